"""schema.py BOM TOOLS: holds a list of components against CycloneDX's published schema, which a package in TOOLS brings."""
import json
import pathlib
import sys

import jsonschema
import referencing

bom, tools = map(pathlib.Path, sys.argv[1:])
(schemas,) = tools.glob("lib/python3*/site-packages/cyclonedx/schema/_res")


def schema(name):
    return json.loads((schemas / f"{name}.SNAPSHOT.schema.json").read_text())


document = json.loads(bom.read_text())
others = [schema(name) for name in ("spdx", "jsf-0.82")]
registry = referencing.Registry().with_resources((s["$id"], referencing.Resource.from_contents(s)) for s in others)
validator = jsonschema.Draft7Validator(schema(f"bom-{document['specVersion']}"), registry=registry)
faults = sorted(f"{error.json_path}: {error.message}" for error in validator.iter_errors(document))
assert not faults, "\n".join(faults)
references = {c["bom-ref"] for c in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
named = {d["ref"] for d in document["dependencies"]} | {o for d in document["dependencies"] for o in d["dependsOn"]}
assert named <= references, f"nobody is {named - references}"
document["components"][0]["scope"] = "somehow"
assert list(validator.iter_errors(document)), "the schema finds what is wrong"
