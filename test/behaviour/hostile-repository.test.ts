/** A git repository that comes with a project runs nothing through Aegis's own git calls, and writes nothing outside of the project. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { testProject } from "../helpers/project.ts";
import { createSession, eventsOf, talk } from "../helpers/talk.ts";
import { tempDir } from "../helpers/temp-dir.ts";

it("runs no filter of a repository inside of the project when it records the files of a turn", async () => {
  const mark = join(await tempDir(), "ran");
  const project = await testProject({
    ...writingAgent,
    "run.sh": `#!/bin/sh\ntouch ${mark}\ncat\n`,
    "vendor/lib/lib.txt": "one\n",
  });
  const git = await initGit(project.dir);
  const inner = (...args: string[]) => git("-C", "vendor/lib", ...args);
  await inner("init", "-q");
  await inner("add", "-A");
  await inner("commit", "-q", "-m", "first");
  await git("rm", "-r", "-q", "--cached", "vendor/lib");
  await git("add", "vendor/lib");
  await git("commit", "-q", "-m", "link");
  await inner("config", "filter.evil.clean", `sh ${join(project.dir, "run.sh")}`);
  await writeFile(join(project.dir, "vendor/lib/.git/info/attributes"), "* filter=evil\n");
  await writeFile(join(project.dir, "vendor/lib/lib.txt"), "two\n");
  const daemon = await project.start();
  await createSession(daemon.client, { handle: "ada" });
  await talk(daemon.client, "ada", "write new.txt x");
  const { changes } = await daemon.client.call("getChanges", { path: { session: "ada" } });
  expect(changes.files.map(({ path }) => path)).toEqual(["new.txt"]);
  expect(existsSync(mark)).toBe(false);
});

it.each(["copy", "link"])("lets no %s of a worktree go through a link of the commit", async (key) => {
  const outside = await tempDir();
  const project = await testProject({
    ...writingAgent,
    ".aegis.yaml": `${writingAgent[".aegis.yaml"]}worktrees:\n  ${key}: [out/planted]\n`,
    ".gitignore": "gates/\n.aegis/\nout/planted\n",
  });
  await symlink(outside, join(project.dir, "out"));
  await initGit(project.dir);
  // In the folder that came along, `out` is a folder; in its commit it is a link.
  await rm(join(project.dir, "out"));
  await mkdir(join(project.dir, "out"));
  await writeFile(join(project.dir, "out/planted"), "planted\n");
  const daemon = await project.start();
  await createSession(daemon.client, { handle: "ada", isolation: "worktree" });
  await talk(daemon.client, "ada", "hello").catch(() => {});
  expect(await readdir(outside)).toEqual([]);
  const [failed] = await eventsOf(daemon.client, "worktree.failed");
  expect(failed?.data.problem).toContain("a link in its path leads elsewhere");
});

/** A client of a project whose files the user trusts, and whose branch `theirs` has other files under the same names. */
async function withBranch(files: Record<string, string>, theirs: Record<string, string>): Promise<Client> {
  const project = await aegisProject(files, { trusted: false });
  const git = await initGit(project.root);
  await git("checkout", "-q", "-b", "theirs");
  for (const [path, text] of Object.entries(theirs)) {
    await writeFile(join(project.root, path), text);
    await chmod(join(project.root, path), 0o755);
  }
  await git("commit", "-q", "-am", "theirs");
  await git("checkout", "-q", "main");
  expect((await project.aegis("trust", "--yes")).code).toBe(0);
  expect((await project.aegis("up")).code).toBe(0);
  const found = await inspectDaemonFile(project.root, project.env.HOME ?? "");
  if (found.state !== "live") throw new Error("no daemon runs");
  return createClient(found.file);
}

it("starts no program of another branch that has the name of an agreed one", { tags: "slow" }, async () => {
  const mark = join(await tempDir(), "ran");
  const client = await withBranch(
    {
      ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: acp, options: { command: [./bin/agent] } }\n",
      ".gitignore": ".aegis/\n",
      "bin/agent": "#!/bin/sh\nexit 1\n",
    },
    { "bin/agent": `#!/bin/sh\ntouch ${mark}\n` },
  );
  await createSession(client, { handle: "ada", isolation: "worktree", base: "theirs" });
  await talk(client, "ada", "hello").catch(() => {});
  const [failed] = await eventsOf(client, "turn.ended");
  expect(failed?.data.error?.message).toContain("this worktree has another version of bin/agent");
  expect(existsSync(mark)).toBe(false);
});

it("follows no playbook of another branch, and the agreed one in a worktree", { tags: "slow" }, async () => {
  const client = await withBranch(writingAgent, {
    "playbook.yaml": "rules:\n  - { name: theirs, when: always, steps: [{ say: 'obeyed another' }] }\n",
  });
  await createSession(client, { handle: "ada", isolation: "worktree", base: "theirs" });
  expect(await talk(client, "ada", "hello").catch(() => "refused")).not.toContain("obeyed another");
  await createSession(client, { handle: "bob", isolation: "worktree" });
  expect(await talk(client, "bob", "hello")).toBe("you said: hello");
});
