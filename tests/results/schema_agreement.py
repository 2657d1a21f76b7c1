"""Holds our own validator to python3-jsonschema: both must find fault at the same places of the same documents.

usage: schema_agreement.py SCHEMA WRITE_SCHEMA_SAMPLES SCRATCH_FILE
"""

import json
import subprocess
import sys

import jsonschema


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def main(schema_path, writer, scratch):
    subprocess.run([writer, scratch], check=True)
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    valid = invalid = 0
    with open(scratch, encoding="utf-8") as samples:
        for number, line in enumerate(samples, 1):
            sample = json.loads(line)
            theirs = {pointer(error.absolute_path) for error in validator.iter_errors(sample["document"])}
            ours = set(sample["violations"])
            if theirs != ours:
                sys.exit(f"line {number}: jsonschema finds fault at {sorted(theirs)}, we at {sorted(ours)}")
            invalid += bool(ours)
            valid += not ours
    print(f"{valid} valid and {invalid} invalid documents, the same faults found")
    if valid < 100 or invalid < 500:
        sys.exit("too few documents for a test")


if __name__ == "__main__":
    main(*sys.argv[1:])
