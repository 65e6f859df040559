import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type GitRepo, gitRepo, testProcesses } from "@aegis/test/helpers/git-repo.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import { type GitFetchOptions, gitFetch, parseGitReference } from "../src/git-fetch.ts";

async function fetchFrom(url: string, more: Partial<GitFetchOptions> = {}) {
  const into = await tempDir();
  const processes = await testProcesses();
  const { signal } = new AbortController();
  const env = { PATH: process.env.PATH };
  const options = { url, ref: null, into, processes, clock: systemClock, env, signal, ...more };
  return { into: options.into, ...(await gitFetch(options)) };
}

async function twoCommits(): Promise<{ repo: GitRepo; first: string; second: string }> {
  const repo = await gitRepo({ "a.txt": "1" });
  const first = await repo.git("rev-parse", "HEAD");
  await repo.git("tag", "v1");
  const second = await repo.commit({ "a.txt": "2" });
  return { repo, first, second };
}

test("the first shown, a branch, a tag, a commit and the first digits of one", async () => {
  const { repo, first, second } = await twoCommits();
  for (const [ref, commit] of [
    [null, second],
    ["main", second],
    ["v1", first],
    [first, first],
    [first.slice(0, 8), first],
  ] as const) {
    const got = await fetchFrom(repo.url, { ref });
    expect({ ref, commit: got.commit }).toEqual({ ref, commit });
    expect(await readFile(join(got.into, "a.txt"), "utf8")).toBe(commit === first ? "1" : "2");
  }
});

test("runs nothing that the repository or the user's settings bring", async () => {
  const trap = join(await tempDir(), "trap");
  const repo = await gitRepo({ "a.txt": "1", ".gitattributes": "* filter=evil\n" });
  await repo.git("config", "uploadpack.packObjectsHook", `touch ${trap}`);
  const home = await tempDir();
  await mkdir(join(home, "hooks"));
  await writeFile(join(home, "hooks/post-checkout"), `#!/bin/sh\ntouch ${trap}\n`);
  await chmod(join(home, "hooks/post-checkout"), 0o755);
  const settings = `[core]\n\thooksPath = ${home}/hooks\n[filter "evil"]\n\tsmudge = touch ${trap}; cat\n`;
  await writeFile(join(home, ".gitconfig"), settings);
  await fetchFrom(repo.url, { env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG: "x" } });
  await expect(readFile(trap)).rejects.toMatchObject({ code: "ENOENT" });
});

test("submodules stay out", async () => {
  const inner = await gitRepo({ "inner.txt": "1" });
  const repo = await gitRepo({ "a.txt": "1" });
  await repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.url, "sub");
  await repo.commit({});
  const { into } = await fetchFrom(repo.url);
  await expect(readFile(join(into, "sub/inner.txt"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a reference that is not there, a repository that is not there", async () => {
  const { repo } = await twoCommits();
  const missing = fetchFrom(repo.url, { ref: "nope" });
  await expect(missing).rejects.toMatchObject({ problem: "no_ref", message: expect.stringContaining('"nope"') });
  await expect(fetchFrom(`file://${repo.dir}/nowhere`)).rejects.toMatchObject({ problem: "failed" });
  await expect(fetchFrom(repo.url, { ref: "--upload-pack=x" })).rejects.toMatchObject({ problem: "refused" });
});

test("a repository over the limit is refused", async () => {
  const repo = await gitRepo({ noise: Array.from({ length: 4000 }, () => Math.random().toString(36)).join("") });
  await expect(fetchFrom(repo.url, { maxBytes: 1000 })).rejects.toMatchObject({ problem: "too_large" });
});

test("git that is not there is said to be", async () => {
  const { repo } = await twoCommits();
  await expect(fetchFrom(repo.url, { env: { PATH: "/nowhere" } })).rejects.toMatchObject({ problem: "no_git" });
});

test("an address inside is refused, also by a name, and other transports are", async () => {
  await expect(fetchFrom("https://127.0.0.1/a.git")).rejects.toMatchObject({ problem: "refused" });
  await expect(fetchFrom("https://localhost/a.git")).rejects.toMatchObject({ problem: "refused" });
  await expect(fetchFrom("http://1.1.1.1/a.git")).rejects.toMatchObject({ problem: "refused" });
  for (const url of ["ssh://host/a", "ext::sh -c x", "git://host/a", "/etc", "https://u:p@host/a"])
    await expect(fetchFrom(url)).rejects.toMatchObject({ problem: "refused" });
});

test("a server that asks for a password or redirects is not followed, and one that hangs is left", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url?.startsWith("/auth")) response.writeHead(401, { "www-authenticate": "Basic" }).end();
    else if (request.url?.startsWith("/away")) response.writeHead(302, { location: `/repo${request.url}` }).end();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const trustedOrigins = [base];
  await expect(fetchFrom(`${base}/auth.git`, { trustedOrigins })).rejects.toMatchObject({ problem: "failed" });
  await expect(fetchFrom(`${base}/away.git`, { trustedOrigins })).rejects.toMatchObject({ problem: "failed" });
  expect(asked.some((url) => url.startsWith("/repo"))).toBe(false);
  const hung = fetchFrom(`${base}/hang.git`, { trustedOrigins, timeoutMs: 300 });
  await expect(hung).rejects.toMatchObject({ problem: "timeout" });
});

test("links are checked out as links, for the copy to judge", async () => {
  const repo = await gitRepo({ "a.txt": "1" });
  await symlink("/etc/hostname", join(repo.dir, "link"));
  await repo.commit({});
  const { into } = await fetchFrom(repo.url);
  await expect(readFile(join(into, "a.txt"), "utf8")).resolves.toBe("1");
});

describe("references", () => {
  test.each([
    ["gh:owner/repo", "https://github.com/owner/repo.git", null, null],
    ["gh:owner/repo.git", "https://github.com/owner/repo.git", null, null],
    ["gh:owner/repo@v1.2", "https://github.com/owner/repo.git", "v1.2", null],
    ["gh:owner/repo@feature/x#skills/pdf", "https://github.com/owner/repo.git", "feature/x", "skills/pdf"],
    ["gh:owner/repo#./skills/pdf/", "https://github.com/owner/repo.git", null, "skills/pdf"],
    ["git+https://example.com/a/b.git@main#sub", "https://example.com/a/b.git", "main", "sub"],
    ["git+file:///srv/repo@abc1234", "file:///srv/repo", "abc1234", null],
    ["git+file:///srv/repo", "file:///srv/repo", null, null],
  ])("%s", (text, url, ref, path) => {
    expect(parseGitReference(text)).toEqual({ url, ref, path });
  });

  test("the base of gh: can be another", () => {
    expect(parseGitReference("gh:a/b", "https://git.example.com/")?.url).toBe("https://git.example.com/a/b.git");
  });

  test.each(["pdf", "https://example.com/a.zip", "./dir", "github:a/b"])("%s is none", (text) => {
    expect(parseGitReference(text)).toBeNull();
  });

  test.each([
    ...["gh:owner", "gh:owner/repo/more", "gh:../repo", "gh:owner/..", "gh:owner/repo@", "gh:owner/repo@-x"],
    ...["gh:owner/repo@a..b", "gh:owner/repo#", "gh:owner/repo#../x", "gh:owner/repo#/etc", "gh:owner/repo#.git/x"],
    ...["git+ssh://host/a", "git+ext::sh -c x", "git+https://user:pass@host/a"],
  ])("%s is refused", (text) => {
    expect(() => parseGitReference(text)).toThrow(expect.objectContaining({ problem: "refused" }));
  });
});
