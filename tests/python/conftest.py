"""In all tests, an error of Armature's own is an error of the test."""

import os

os.environ["ARMATURE_STRICT"] = "1"
