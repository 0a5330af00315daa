//! What the switch of the mutants can reach and what it cannot.

use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

// Checks: no release can contain a mutant: only tests enable the feature, and only debug builds read the switch.
#[test]
fn release_build_cannot_enable_mutants() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--offline",
            "--locked",
            "--edges",
            "normal,build",
        ])
        .args(["--prefix", "none", "--format", "{p} [{f}]"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        tree.contains("purser-storage v") && tree.contains("purser-actors v"),
        "{tree}"
    );
    assert!(!tree.contains("mutants"), "{tree}");

    let text = |name: &str| std::fs::read_to_string(std::path::Path::new(ROOT).join(name)).unwrap();
    let gate = "#[cfg(all(feature = \"mutants\", debug_assertions))]";
    let switch = text("storage/src/mutants.rs");
    assert!(switch.contains(&format!("{gate}\nmod active {{")));
    assert!(switch.contains(&format!("{gate}\npub use active::{{enable, is_enabled}};")));
    assert!(switch.contains("pub const fn is_enabled(_: Mutant) -> bool {\n    false\n}"));
    let root = text("Cargo.toml");
    let members = root.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let folders = members
        .trim_end_matches(']')
        .split(", ")
        .map(|folder| folder.trim_matches('"'));
    let manifests = folders.map(|folder| text(&format!("{folder}/Cargo.toml")));
    for manifest in manifests.chain([root.clone()]) {
        assert!(!manifest.contains("default = ["), "no feature is on by itself");
        let shipped = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(!shipped.contains("features = [\"mutants\"]"), "only tests plant");
        assert!(!manifest.contains("debug-assertions"), "releases do not listen");
    }
}
