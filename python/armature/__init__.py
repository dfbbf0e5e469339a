"""Armature captures Python functions as graphs."""
