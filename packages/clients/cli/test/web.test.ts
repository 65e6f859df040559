/** `aegis web`: links, the list of browsers, and opening a browser without showing the code to other users. */
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { openLink } from "../src/commands/web/open-link.ts";

it("prints a link that works once, lists the browser and ends its access", { tags: "slow" }, async () => {
  const { aegis, json } = await aegisProject();
  const link = await json<{ url: string; opened: boolean }>("web");
  expect(link.opened).toBe(false);
  const { origin, hash } = new URL(link.url);
  const login = () =>
    fetch(`${origin}/web/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "Test Browser" },
      body: JSON.stringify({ code: hash.replace("#code=", "") }),
    });
  expect([(await login()).status, (await login()).status]).toEqual([200, 401]);
  expect((await aegis("web", "--list")).stdout).toContain("Test Browser");
  expect((await aegis("web", "--revoke", "web_none")).stderr).toContain("aegis web --list shows them");
  expect((await aegis("web", "--revoke", "all")).stdout).toBe("Revoked the access of 1 browser.\n");
  expect((await aegis("web", "--list")).stdout).toContain("No browser has access.");
  expect((await aegis("web", "--no-open")).stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{22}\n/);
});

it("opens a private file instead of passing the link as an argument", async () => {
  const folder = await tempDir();
  const [program, seen] = [join(folder, "browser"), join(folder, "seen")];
  await writeFile(program, `#!/bin/sh\nprintf %s "$*" > ${seen}.part && mv ${seen}.part ${seen}\n`);
  await chmod(program, 0o700);
  const link = "http://127.0.0.1:1/#code=secret";
  expect(await openLink(link, { folder, env: { BROWSER: program } })).toBe(true);
  await waitUntil("the browser was started", () => stat(seen).then(Boolean, () => false));
  const shown = await readFile(seen, "utf8");
  expect(shown).toMatch(/^file:.*\.html$/);
  expect(await readFile(fileURLToPath(shown), "utf8")).toContain(link);
  expect((await stat(fileURLToPath(shown))).mode & 0o777).toBe(0o600);
  expect(await openLink(link, { folder, env: { BROWSER: join(folder, "none") } })).toBe(false);
});
