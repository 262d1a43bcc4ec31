"""B16. What a layer's marks and links may do: show other directories of the layers, or lead the setup astray."""

from programs import probe, shell


def test_overlay_marks_cannot_be_forged(sandbox, trial, who):
    found = probe(sandbox, """
os.makedirs("/tmp/marks", exist_ok=True)
for kind in ("trusted", "user"):
    for name in ("opaque", "redirect", "metacopy", "origin", "whiteout"):
        said = attempt(os.setxattr, "/tmp/marks", f"{kind}.overlay.{name}", b"/etc")
        if kind == "trusted": seen[name] = said
seen["whiteout node"] = attempt(os.mknod, "/tmp/marks/w", 0o20000, 0)
""", who)  # fmt: skip
    assert set(found.values()) == {"EPERM"}
    trial.saw = "EPERM"


def test_what_must_be_there_is_no_link(sandbox, trial, who):
    """Replaced inside after the start: neither new commands nor the files API may follow it out."""
    shell(sandbox, "rm -rf /tmp /etc/resolv.conf; ln -s / /tmp; ln -s ../../../../etc/shadow /etc/resolv.conf", "root")
    assert shell(sandbox, "cat /tmp/etc/hostname", who).strip() == sandbox.sandbox_id
    assert sandbox.files.read("/tmp/etc/hostname").strip() == sandbox.sandbox_id
    for name in ("dev", "proc", "sys"):
        assert "moved" not in shell(sandbox, f"mv /{name} /{name}2 2>&1 && echo moved", who)
    trial.saw = "links end at the sandbox's root; /dev, /proc, /sys cannot be moved"


def test_templates_with_such_links_are_refused(trial):
    import pytest

    pytest.skip("templates are built from recipes here; import of foreign images comes with its own tests")
