//! The Kubernetes manifests, as far as they can be judged without a cluster: by the schemas of Kubernetes and of the
//! Prometheus operator, and by rules of our own. Nothing is applied. Overlays and components are put together with
//! `kubectl kustomize`, and the operator's schemas fetched, in the longer form only: not every machine has the tools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::manifests::{self, documents, files_below, texts};
use crate::support::{long, not_tested, repository};

const PORT: u64 = 10121;
/// What an annotation may hold, in which `kubectl apply` keeps a copy of what it applied.
const ANNOTATION: u64 = 256 << 10;

fn root() -> PathBuf {
    repository("deploy/kubernetes")
}

fn is_kustomization(path: &Path) -> bool {
    path.ends_with("kustomization.yaml")
}

/// All objects that are written as such.
fn objects() -> Vec<Value> {
    let mut files = files_below(&root(), &[".yaml"]);
    files.retain(|f| !is_kustomization(f));
    documents(&files).into_iter().map(|(_, object)| object).collect()
}

fn object(kind: &str, name: &str) -> Value {
    let mut found: Vec<Value> = objects();
    found.retain(|o| o["kind"] == kind && o["metadata"]["name"] == name);
    assert_eq!(found.len(), 1, "{kind} {name}");
    found.remove(0)
}

fn half(component: &str) -> Value {
    let kind = if component == "store" { "Deployment" } else { "DaemonSet" };
    object(kind, &format!("dlock-exporter-{component}"))
}

fn pod(component: &str) -> Value {
    half(component)["spec"]["template"]["spec"].clone()
}

fn labels(component: &str) -> Value {
    json!({"app.kubernetes.io/name": "dlock-exporter", "app.kubernetes.io/component": component})
}

#[test]
fn kubernetes_would_take_every_object() {
    manifests::must_be_valid("kubernetes", &files_below(&root(), &[".yaml"]));
}

#[test]
fn kustomizations_name_what_is_there() {
    let mut all = files_below(&root(), &["kustomization.yaml"]);
    all.push(repository("dashboards/kustomization.yaml"));
    for (file, build) in documents(&all) {
        let directory = file.parent().expect("a file is in a directory");
        let kind = build["kind"].as_str().expect("a kind");
        let version = if kind == "Component" { "v1alpha1" } else { "v1beta1" };
        assert_eq!(build["apiVersion"], format!("kustomize.config.k8s.io/{version}"));
        // It would relabel the peers of network policies, too.
        assert!(!build.to_string().contains("includeSelectors"), "{}", file.display());
        let mut named: BTreeSet<String> = texts(&build["resources"]).into_iter().collect();
        named.extend(texts(&build["components"]));
        for generator in build["configMapGenerator"].as_array().into_iter().flatten() {
            let name = |f: String| f.rsplit_once('=').map_or(f.clone(), |(_, f)| f.to_owned());
            named.extend(texts(&generator["files"]).into_iter().map(name));
        }
        for name in &named {
            let place = directory.join(name);
            let build = place.join("kustomization.yaml");
            assert!(place.is_file() || build.is_file(), "{}: no {name}", file.display());
        }
        // A file that nobody names is not applied, however good it is.
        for entry in std::fs::read_dir(directory).expect("a directory can be read").flatten() {
            let name = entry.file_name().into_string().expect("names are text");
            let counts = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
            assert!(
                !counts || name == "kustomization.yaml" || named.contains(&name),
                "{}: {name} is not named",
                file.display()
            );
        }
    }
}

#[test]
fn the_store_half_fits_the_restricted_standard() {
    let pod = pod("store");
    let text = pod.to_string();
    for word in [
        "hostPID",
        "hostIPC",
        "hostNetwork",
        "hostPath",
        "hostPort",
        "privileged",
        "procMount",
        "sysctls",
    ] {
        assert!(!text.contains(&format!("\"{word}\"")), "{word}");
    }
    let all = &pod["securityContext"];
    assert_eq!(all["runAsNonRoot"], true);
    assert_eq!((&all["runAsUser"], &all["runAsGroup"]), (&json!(65532), &json!(65532)));
    assert_eq!(all["seccompProfile"]["type"], "RuntimeDefault");
    let container = &pod["containers"][0]["securityContext"];
    let expected = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(*container, expected);
    for volume in pod["volumes"].as_array().expect("volumes") {
        assert!(volume["configMap"].is_object() || volume["secret"].is_object(), "{volume}");
    }
    let namespace = object("Namespace", "dlock");
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
}

#[test]
fn the_holders_half_has_what_it_needs_of_the_host_and_no_more() {
    let pod = pod("holders");
    assert_eq!(pod["hostPID"], true);
    for word in ["hostIPC", "hostNetwork"] {
        assert!(pod[word].is_null(), "{word}");
    }
    assert_eq!(pod["securityContext"], json!({"seccompProfile": {"type": "RuntimeDefault"}}));
    let container = &pod["containers"][0];
    let own = &container["securityContext"];
    assert_eq!(texts(&own["capabilities"]["drop"]), ["ALL"]);
    assert_eq!(texts(&own["capabilities"]["add"]), manifests::capabilities_of_the_readme());
    assert_eq!(own["runAsUser"], 0, "Kubernetes gives added capabilities to no other user");
    assert_eq!(
        (&own["allowPrivilegeEscalation"], &own["readOnlyRootFilesystem"]),
        (&json!(false), &json!(true))
    );
    assert!(own["privileged"].is_null());

    // Each flag that names a place names a mount of the host's.
    let volumes = pod["volumes"].as_array().expect("volumes");
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    let mut of_host = 0;
    for volume in volumes.iter().filter(|v| v["hostPath"].is_object()) {
        of_host += 1;
        let mount = mounts.iter().find(|m| m["name"] == volume["name"]).expect("it is mounted");
        assert_eq!(
            (&mount["readOnly"], &mount["mountPropagation"]),
            (&json!(true), &json!("HostToContainer"))
        );
        let flag = match volume["hostPath"]["path"].as_str() {
            Some("/proc") => "--path.procfs=",
            Some("/sys/fs/cgroup") => "--path.cgroupfs=",
            other => panic!("{other:?} of the host is mounted"),
        };
        let place = format!("{flag}{}", mount["mountPath"].as_str().expect("a path"));
        assert!(texts(&container["args"]).contains(&place), "no {place}");
    }
    assert_eq!(of_host, 2);
    let namespace = object("Namespace", "dlock-holders");
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
}

#[test]
fn both_halves_are_pinned_probed_bounded_and_have_no_token() {
    for component in ["store", "holders"] {
        let pod = pod(component);
        let account = object("ServiceAccount", &format!("dlock-exporter-{component}"));
        assert_eq!(account["automountServiceAccountToken"], false);
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["serviceAccountName"], account["metadata"]["name"]);
        let [container] = pod["containers"].as_array().expect("containers").as_slice() else {
            panic!("{component}: not one container")
        };
        let image = format!("dlock_exporter:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(container["image"], image);
        for (probe, path) in [("livenessProbe", "/-/healthy"), ("readinessProbe", "/-/ready")] {
            assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": "http"}));
        }
        assert!(container["resources"]["limits"]["memory"].is_string());
        assert!(container["resources"]["limits"]["cpu"].is_null(), "throttled, it polls late");
        for mount in container["volumeMounts"].as_array().expect("mounts") {
            assert_eq!(mount["readOnly"], true, "{component}: {mount}");
        }
        assert_eq!(half(component)["metadata"]["namespace"], Value::Null, "overlays say where");
    }
    for (file, build) in documents(&files_below(&root().join("overlays"), &["kustomization.yaml"]))
    {
        for image in build["images"].as_array().into_iter().flatten() {
            assert_eq!(image["name"], "dlock_exporter");
            assert_eq!(image["newTag"], env!("CARGO_PKG_VERSION"), "{}", file.display());
        }
    }
}

#[test]
fn ports_and_selectors_fit_together() {
    for component in ["store", "holders"] {
        let labels = labels(component);
        let half = half(component);
        assert_eq!(half["spec"]["selector"]["matchLabels"], labels);
        assert_eq!(half["spec"]["template"]["metadata"]["labels"], labels);
        let port = &half["spec"]["template"]["spec"]["containers"][0]["ports"][0];
        assert_eq!((&port["name"], &port["containerPort"]), (&json!("http"), &json!(PORT)));
        let policy = object("NetworkPolicy", &format!("dlock-exporter-{component}"));
        assert_eq!(policy["spec"]["podSelector"]["matchLabels"], labels);
        assert_eq!(texts(&policy["spec"]["policyTypes"]), ["Egress", "Ingress"]);
        assert_eq!(
            policy["spec"]["ingress"][0]["ports"],
            json!([{"port": PORT, "protocol": "TCP"}])
        );
        // An empty peer would be everybody.
        for rule in policy["spec"]["egress"].as_array().expect("rules out") {
            assert!(rule["to"][0].is_object() && rule["ports"][0].is_object(), "{rule}");
        }
    }
    let service = object("Service", "dlock-exporter-store");
    assert_eq!(service["spec"]["selector"], labels("store"));
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&port["name"], &port["port"], &port["targetPort"]),
        (&json!("http"), &json!(PORT), &json!("http"))
    );
    let monitors = [
        ("ServiceMonitor", "store", "endpoints", "dlock"),
        ("PodMonitor", "holders", "podMetricsEndpoints", "dlock-workers"),
    ];
    for (kind, component, endpoints, job) in monitors {
        let monitor = object(kind, &format!("dlock-exporter-{component}"));
        let spec = &monitor["spec"];
        assert_eq!(spec["selector"]["matchLabels"], labels(component));
        assert_eq!(spec[endpoints][0]["port"], "http");
        let renamed = spec[endpoints][0]["relabelings"].as_array().expect("relabelings");
        assert!(renamed.contains(&json!({"targetLabel": "job", "replacement": job})), "{kind}");
        for limit in [
            "sampleLimit",
            "labelLimit",
            "labelNameLengthLimit",
            "labelValueLengthLimit",
            "bodySizeLimit",
        ] {
            assert!(!spec[limit].is_null(), "{kind}: no {limit}");
        }
    }
}

/// Runs `--config.check` on a config, with a password file that is there.
fn check(config: &Path, environment: &[(String, String)]) {
    let directory = TempDir::new().expect("a temporary directory can be made");
    let password = directory.path().join("password");
    std::fs::write(&password, "secret\n").expect("room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_exporter"));
    command.arg("--config.file").arg(config).arg("--config.check");
    command.env("DLOCK__STORES__MAIN__PASSWORD_FILE", &password).envs(environment.iter().cloned());
    manifests::output(&mut command);
}

#[test]
fn the_configs_have_no_mistakes_and_name_what_is_mounted() {
    for component in ["store", "holders"] {
        let config = root().join(component).join("dlock.yml");
        check(&config, &[]);
        let pod = pod(component);
        let mounts = pod["containers"][0]["volumeMounts"].as_array().expect("mounts").clone();
        let at = |volume: &str| {
            let mount = mounts.iter().find(|m| m["name"] == volume);
            mount.and_then(|m| m["mountPath"].as_str()).expect("it is mounted").to_owned()
        };
        let text = std::fs::read_to_string(&config).expect("a config");
        assert!(text.contains(&format!("password_file: {}/password", at("redis"))), "{text}");
        let flag = format!("--config.file={}/dlock.yml", at("config"));
        assert!(texts(&pod["containers"][0]["args"]).contains(&flag), "no {flag}");
        // The name that the generator makes is the one that the volume asks for.
        let generated = manifests::document(&root().join(component).join("kustomization.yaml"));
        let volumes = pod["volumes"].as_array().expect("volumes");
        let volume = volumes.iter().find(|v| v["name"] == "config").expect("the config");
        assert_eq!(generated["configMapGenerator"][0]["name"], volume["configMap"]["name"]);
    }
    // What a component sets in the environment is understood, too.
    let component = root().join("components/host-network/kustomization.yaml");
    let text = std::fs::read_to_string(component).expect("the component");
    let variable = text.lines().find_map(|l| l.split_once("name: DLOCK__")).expect("a variable").1;
    let (name, value) = variable.split_once(", value: '").expect("a value");
    let value = value.split('\'').next().expect("a value");
    check(&root().join("holders/dlock.yml"), &[(format!("DLOCK__{name}"), value.into())]);
}

#[test]
fn the_rules_are_those_of_the_alerts() {
    manifests::output(Command::new(root().join("generate-rules")).arg("--check"));
    let file = root().join("monitoring/prometheusrules.yaml");
    let rules = documents(&[file]);
    let sources: Vec<PathBuf> = std::fs::read_dir(repository("alerts"))
        .expect("alerts")
        .map(|e| e.expect("alerts").path())
        .filter(|p| p.extension().is_some_and(|e| e == "yml"))
        .collect();
    assert_eq!(rules.len(), sources.len());
    for source in sources {
        let stem = source.file_stem().expect("a name").to_string_lossy().into_owned();
        let rule = rules.iter().find(|(_, r)| r["metadata"]["name"] == format!("dlock-{stem}"));
        let rule = &rule.unwrap_or_else(|| panic!("no rules of {stem}")).1;
        assert_eq!(rule["spec"], manifests::document(&source), "{stem}");
        let size = rule.to_string().len() as u64;
        assert!(size < ANNOTATION, "{stem} has {size} bytes");
    }
}

#[test]
fn every_dashboard_has_a_config_map_that_can_be_applied() {
    let build = manifests::document(&repository("dashboards/kustomization.yaml"));
    let generators = build["configMapGenerator"].as_array().expect("generators");
    let mut named: Vec<PathBuf> = generators
        .iter()
        .map(|g| {
            let [file] = &texts(&g["files"])[..] else { panic!("{g}: not one file each") };
            repository("dashboards").join(file)
        })
        .collect();
    named.sort();
    assert_eq!(named, files_below(&repository("dashboards"), &[".json"]));
    for file in named {
        let size = std::fs::metadata(&file).expect("a dashboard").len();
        assert!(size < ANNOTATION, "{}: {size} bytes", file.display());
    }
    assert_eq!(build["generatorOptions"]["labels"]["grafana_dashboard"], "1");
}

/// Puts an overlay together.
fn rendered(directory: &Path, into: &Path) {
    let text = manifests::output(Command::new("kubectl").arg("kustomize").arg(directory));
    std::fs::write(into, text).expect("room");
}

#[test]
fn overlays_and_components_give_what_kubernetes_and_the_operator_take() {
    if !long() {
        not_tested(
            "overlays of the Kubernetes manifests put together: give --long (needs kubectl and go)",
        );
        return;
    }
    let definitions = manifests::output(Command::new("go").current_dir("/").args([
        "mod",
        "download",
        "-json",
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    ]));
    let definitions: Value = serde_json::from_str(&definitions).expect("go writes JSON");
    let definitions = definitions["Dir"].as_str().expect("a directory");
    let definitions = Path::new(definitions).join("example/prometheus-operator-crd");

    let directory = TempDir::new().expect("a directory can be made");
    let mut files = Vec::new();
    // The component that the example leaves out. kustomize wants paths that are relative.
    let up = "../".repeat(directory.path().components().count() - 1);
    let here = root().display().to_string();
    let build = format!(
        "resources: ['{up}.{here}/overlays/split']\ncomponents: ['{up}.{here}/components/host-cgroups']\n"
    );
    std::fs::write(directory.path().join("kustomization.yaml"), build).expect("room");
    for overlay in ["single", "split", "monitoring", "example"] {
        let file = directory.path().join(format!("{overlay}.yaml"));
        rendered(&root().join("overlays").join(overlay), &file);
        files.push(file);
    }
    let cgroups = directory.path().join("host-cgroups.yaml");
    rendered(directory.path(), &cgroups);
    files.push(cgroups);
    manifests::must_be_valid("kubernetes", &files);
    let mut custom = vec![definitions];
    custom.extend(files.clone());
    manifests::must_be_valid("custom", &custom);

    // The example changes all that it says it changes.
    let example = documents(&files[3..4]);
    let find = |kind: &str, name: &str| {
        let found = example.iter().find(|(_, o)| {
            o["kind"] == kind && o["metadata"]["name"].as_str().is_some_and(|n| n.starts_with(name))
        });
        &found.unwrap_or_else(|| panic!("no {kind} {name}")).1
    };
    let deployment = find("Deployment", "dlock-exporter-store");
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(find("PodDisruptionBudget", "dlock")["metadata"]["namespace"], "dlock");
    let pod = &deployment["spec"]["template"]["spec"];
    let image = pod["containers"][0]["image"].as_str().expect("an image");
    assert!(image.starts_with("registry.example/"), "{image}");
    let config = find("ConfigMap", "dlock-exporter-store");
    assert!(config["data"]["dlock.yml"].as_str().is_some_and(|c| c.contains("redis.example")));
    // The pods use the config that the example brings, by its hash.
    let volume = pod["volumes"].as_array().and_then(|v| v.iter().find(|v| v["name"] == "config"));
    assert_eq!(volume.expect("the config")["configMap"]["name"], config["metadata"]["name"]);
    let from = &find("NetworkPolicy", "dlock-exporter-store")["spec"]["ingress"][0]["from"][0];
    let labels = &from["podSelector"]["matchLabels"];
    assert_eq!(*labels, json!({"app.kubernetes.io/name": "prometheus"}), "the peer was relabelled");
    let holders = &find("DaemonSet", "dlock-exporter-holders")["spec"]["template"]["spec"];
    assert_eq!(holders["hostNetwork"], true);
    assert!(
        texts(&holders["containers"][0]["args"])
            .contains(&format!("--web.listen-address=$(HOST_IP):{PORT}"))
    );

    // A privileged container, which the other settings would contradict.
    let privileged = documents(&files[4..]).into_iter().map(|(_, o)| o);
    let privileged =
        privileged.into_iter().find(|o| o["kind"] == "DaemonSet").expect("a DaemonSet");
    let container = &privileged["spec"]["template"]["spec"]["containers"][0];
    let expected = json!({"privileged": true, "runAsUser": 0, "runAsGroup": 0, "readOnlyRootFilesystem": true});
    assert_eq!(container["securityContext"], expected);
}
