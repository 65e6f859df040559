/** What settings reach together, which paths may be allowed, and that a policy shows nothing through a link. */
import { execFileSync } from "node:child_process";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxSettings } from "@aegis/contract/sandbox.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { mountArguments } from "../src/bubblewrap/mounts.ts";
import { gitPlaces } from "../src/git-places.ts";
import { hostRuleText } from "../src/host-rules.ts";
import { type ProjectReach, pathProblem, reachOf } from "../src/reach.ts";
import { policyFor } from "../src/resolve.ts";

const base = { root: "/work/project", home: "/home/ada" };
const nothing = { write: [], read: [], hosts: [] };
const project: ProjectReach = { sandbox: "workspace", allow: { ...nothing, hosts: ["all.example"] } };
const agent = (
  sandbox: SandboxSettings["sandbox"],
  allow: Partial<NonNullable<SandboxSettings["allow"]>> = {},
): SandboxSettings => ({
  sandbox,
  allow: { ...nothing, ...allow },
});

function reached(...settings: SandboxSettings[]) {
  const { level, write, read, hosts } = reachOf(settings, project, base);
  return { level, write, read, hosts: [...new Set(hosts.map(hostRuleText))] };
}

describe("settings together", () => {
  it("reach what all of them reach", () => {
    expect(reached()).toEqual({ level: "workspace", write: [], read: [], hosts: ["all.example"] });
    const parent = agent("workspace", { write: ["../shared"], hosts: ["*.a.example", "b.example:8443"] });
    const child = agent("off", { write: ["/"] });
    expect(reached(child, parent)).toEqual({
      level: "workspace",
      write: ["/work/shared"],
      read: [],
      hosts: ["all.example", "*.a.example", "b.example:8443"],
    });
    const other = agent("strict", {
      write: ["../shared/part", "~/data"],
      hosts: ["x.a.example", "*.b.a.example", "b.example"],
    });
    expect(reached(other, parent)).toEqual({
      level: "strict",
      write: ["/work/shared/part"],
      read: [],
      hosts: ["all.example", "x.a.example", "*.b.a.example"],
    });
    expect(reached({ sandbox: null, allow: null }, child).level).toBe("workspace");
    expect(reached(child).level).toBe("off");
  });

  it.each([
    ["/", "write"],
    ["~", "write"],
    ["/home", "write"],
    ["..", "write"],
    ["~/.aegis/x", "write"],
    [".aegis/state", "read"],
    ["/", "read"],
    ["~bob/x", "read"],
  ] as const)("do not allow %s to %s", (path, kind) => {
    expect(pathProblem(path, kind, base)).toMatch(/expected|cannot be allowed/);
  });

  it("allow a folder beside the project and one in the home folder", () => {
    for (const path of ["../shared", "~/data", "/srv/data"]) expect(pathProblem(path, "write", base)).toBeNull();
  });
});

/** A home with a secret, and a project in which a program has made links to it. */
async function linked() {
  const dir = await realpath(await tempDir());
  const [home, root, state] = ["home", "project", "project/.aegis/state"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [join(home, ".ssh"), state, join(dir, "tmp")]) await mkdir(folder, { recursive: true });
  await writeFile(join(home, ".ssh/id"), "secret");
  await writeFile(join(state, "token"), "secret");
  await symlink(join(home, ".ssh/id"), join(root, ".envrc"));
  await symlink(join(state, "token"), join(root, ".mcp.json"));
  await symlink(join(home, ".ssh"), join(root, "assets"));
  const places = {
    root,
    folder: root,
    mayWrite: true,
    home,
    env: {},
    stateDir: state,
    own: [],
    shown: [],
    protectOwn: [],
    replaced: null,
    hosts: [],
    tmp: join(dir, "tmp"),
    logins: [],
    protect: [],
  };
  return { dir, home, root, places };
}

it("shows nothing hidden through a link in the place of a protected or an allowed path", async () => {
  const { home, root, places } = await linked();
  const allowed = agent("workspace", { write: ["assets"], read: ["assets"] });
  const policy = await policyFor(reachOf([allowed], project, { root, home }), places);
  if (policy === null) throw new Error("it is confined");
  const mounts = (await mountArguments(policy)).join(" ");
  expect(mounts).not.toContain(`${home}/.ssh/id`);
  expect(mounts).not.toMatch(/bind \S*(\.ssh|token)/);
});

it("takes no repository that a program names in a .git file of its own", async () => {
  const { dir, root } = await linked();
  const other = join(dir, "other");
  await mkdir(other);
  const git = (...args: string[]) => execFileSync("git", ["-C", other, ...args], { stdio: "ignore" });
  git("init", "-q");
  git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "--allow-empty", "-m", "x");
  git("worktree", "add", "-q", join(dir, "tree"));
  expect((await gitPlaces(join(dir, "tree"))).write).toContain(join(other, ".git/objects"));
  await writeFile(join(root, ".git"), `gitdir: ${other}/.git/worktrees/tree\n`);
  expect(await gitPlaces(root)).toEqual({ write: [], protect: [join(root, ".git")] });
});
