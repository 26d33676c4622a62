"""Checks of Kubernetes manifests, for tests of the files that `paretoken plan` writes and of those in scripts/scale."""

import re

try:
    import yaml
except ImportError:
    yaml = None
try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

VERSIONS = {"Service": "v1", "Deployment": "apps/v1", "Job": "batch/v1", "HorizontalPodAutoscaler": "autoscaling/v2"}
NAME = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")


def pods_of(document):
    """Returns the pod specifications in a document."""
    if isinstance(document, dict):
        return ([document] if "containers" in document else []) + [pod for value in document.values() for pod in pods_of(value)]
    return [pod for value in document for pod in pods_of(value)] if isinstance(document, list) else []


def objects_of(case, text):
    """Returns the objects of a manifest, and asserts that their versions, names, words and volumes are valid."""
    objects = list(yaml.safe_load_all(text))
    for one in objects:
        case.assertEqual(one["apiVersion"], VERSIONS[one["kind"]])
        case.assertRegex(one["metadata"]["name"], NAME)
        for pod in pods_of(one):
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            for container in pod["containers"]:
                case.assertTrue(container["image"])
                for word in [*container.get("command", []), *container.get("args", [])]:
                    case.assertIsInstance(word, str, f"{word!r} is no string for Kubernetes")
                for mount in container.get("volumeMounts", []):
                    case.assertIn(mount["name"], volumes)
        if kubernetes_validate is not None:
            kubernetes_validate.validate(one, "1.32", strict=True)
    return objects
