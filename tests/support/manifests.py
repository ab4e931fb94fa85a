#!/usr/bin/env python3
"""Reads YAML for the tests and holds it against published schemas. It must not know what is in the files.

  json FILE...          all documents as one JSON list of [file, document], anchors and merges resolved
  compose FILE          fails unless it is a compose file
  kubernetes FILE...    fails unless each document is what Kubernetes takes, with no field that it does not know;
                        kinds that are not its own are left to `custom`
  custom DIR FILE...    the same for kinds whose CustomResourceDefinition is a file in DIR
Errors go to standard output, one a line.
"""

import json
import pathlib
import sys

import yaml

BUILD_FILES = ("kustomize.config.k8s.io/",)


def documents(files):
    for name in files:
        for document in yaml.safe_load_all(pathlib.Path(name).read_text()):
            if document is not None:
                yield name, document


def is_built_in(document):
    group = document["apiVersion"].rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def of_compose(file):
    from compose_spec import PyCompose

    ((_, document),) = documents([file])
    try:
        PyCompose.from_yaml(yaml.safe_dump(document, sort_keys=False))
    except Exception as error:  # whatever it raises is its verdict
        yield f"{file}: {error}"


def of_kubernetes(files):
    import kubernetes_validate

    for name, document in documents(files):
        if document["apiVersion"].startswith(BUILD_FILES) or not is_built_in(document):
            continue
        try:
            kubernetes_validate.validate(document, "1.37", strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{name}: {document['kind']}: {error.message}"


def closed(schema):
    """The schema with every object whose fields it names closed to others."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            schema.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        schema.pop("type", None)
    return schema


def definition(directory, document):
    """The closed schema of a document's kind, or None."""
    files = pathlib.Path(directory).glob(f"*_{document['kind'].lower()}s.yaml")
    for _, found in documents(sorted(files)):
        spec = found["spec"]
        for version in spec["versions"]:
            if document["apiVersion"] == f"{spec['group']}/{version['name']}":
                schema = closed(version["schema"]["openAPIV3Schema"])
                # What every object has is not described in definitions.
                schema["properties"]["metadata"] = {"type": "object"}
                return schema
    return None


def of_definitions(directory, files):
    import jsonschema

    schemas = {}
    for name, document in documents(files):
        if document["apiVersion"].startswith(BUILD_FILES) or is_built_in(document):
            continue
        kind = document["apiVersion"], document["kind"]
        if kind not in schemas:
            schemas[kind] = definition(directory, document)
        if schemas[kind] is None:
            yield f"{name}: {directory} does not define {kind}"
            continue
        for error in jsonschema.Draft4Validator(schemas[kind]).iter_errors(document):
            yield f"{name}: {document['kind']}: {error.json_path}: {error.message[:300]}"


def main():
    what, files = sys.argv[1], sys.argv[2:]
    if what == "json":
        # Dates are no JSON.
        json.dump(list(documents(files)), sys.stdout, default=str)
        return 0
    checks = {
        "compose": lambda: of_compose(*files),
        "kubernetes": lambda: of_kubernetes(files),
        "custom": lambda: of_definitions(files[0], files[1:]),
    }
    errors = list(checks[what]())
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
