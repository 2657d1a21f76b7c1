"""The one JSON file of the check, written anew after every case, so that what is stopped loses nothing measured.

  {"format", "version", "program", "gpus", "calibration", "doctor": [...],
   "parts": {part: {"state": "running" | "complete" | "unfinished", "note", "cases": {name: {"status", ...}}}},
   "aims": [...]}

A part is one sitting's or several': one that was not completed goes on where it stopped, a complete one begins anew.
Figures of other programs or of other GPUs are never mixed in.
"""
import json
import os
import pathlib

import processes

FORMAT, VERSION = "parabench gpu check", 2


class ForeignFile(Exception):
    """The file is not one of this check, these programs and these GPUs."""


def fresh(program, gpus, doctor):
    return {"format": FORMAT, "version": VERSION, "program": program, "gpus": gpus, "calibration": None,
            "doctor": doctor, "parts": {}, "aims": []}


def continued(old, new):
    """`new`, with the parts of an earlier sitting. Throws ForeignFile, naming what differs."""
    if not isinstance(old, dict) or old.get("format") != FORMAT or old.get("version") != VERSION:
        raise ForeignFile(f"it is no file of this check, version {VERSION}")
    for key in ("program", "gpus"):
        if old[key] != new[key]:
            raise ForeignFile(f"it was measured with {key} {old[key]}, here: {new[key]}")
    return {**new, "calibration": old["calibration"], "parts": old["parts"], "aims": old["aims"]}


def left_by(part):
    """The cases that an earlier sitting leaves to the next: those of a part that it did not complete."""
    return part["cases"] if part and part["state"] != "complete" else {}


class ResultsFile:
    """`content` is what the file holds after the last call of write()."""

    def __init__(self, path, content):
        self.path = pathlib.Path(path).absolute()
        if self.path.exists():
            content = continued(processes.read_json_file(self.path), content)
        self.content = content

    def part(self, name):
        return self.content["parts"].get(name)

    def begin(self, name, kept):
        self.content["parts"][name] = {"state": "running", "note": None, "cases": dict(kept)}
        self.write()

    def keep(self, part, case, entry):
        self.part(part)["cases"][case] = entry
        self.write()

    def end(self, name, state, note=None):
        self.part(name).update(state=state, note=note)
        self.write()

    def write(self):
        """Replaces the file at once."""
        part = self.path.with_name(self.path.name + ".part")
        with open(part, "w") as file:
            json.dump(self.content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)
