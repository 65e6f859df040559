/** Receipts of checks in a real browser: of tasks, of the steps of a run, and of a landing. */

import { waitForRun } from "@aegis/client/wait-work.ts";
import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { initGit } from "@aegis/test/helpers/git-project.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { checkedFlows, checkedProject, enqueued, over } from "@aegis/test/helpers/projects/checked.ts";
import { createSession, talk } from "@aegis/test/helpers/talk.ts";
import { beforeAll, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";

const browser = sharedBrowser();
const shared = sharedDaemon({ ...checkedProject, ".aegis/plugins/flows.js": checkedFlows });
beforeAll(async () => {
  await initGit(shared.project.dir);
});

/** Colours of a terminal, and text that must not become part of the page. */
const hostile = `printf '\\033[31m<img src=x onerror=hit()>\\033[0m<script>hit()</script>\\n'`;

it("shows the receipts of a task, a run and a landing as text, and when they are void", { tags: "slow" }, async () => {
  const { client } = shared.daemon;
  const checked = await enqueued(client, "free", {
    payload: "write kept.txt right",
    check: `${hostile}; echo 1..1; echo ok 1; grep -q right kept.txt`,
  });
  await over(client, checked);
  await over(client, await enqueued(client, "free", { payload: "stubborn, no check" }));
  await over(client, await enqueued(client, "hard", { payload: "stubborn" }));
  const { page, errors, left } = await openWeb(browser, shared.daemon);
  await page.evaluate("globalThis.hits = 0; globalThis.hit = () => { hits += 1; }");

  await go(page, "#/queues");
  const row = (text: string) => page.locator("section[aria-label=Tasks] tr", { hasText: text });
  const state = (of: string, word: string) =>
    row(of).locator("td > .status").getByText(word, { exact: true }).waitFor();
  await state("no check", "unverified");
  await state("hard", "check failed");
  const kept = row("write kept.txt right");
  await state("write kept.txt right", "verified");
  await kept.locator("summary").click();
  await kept.getByText(/^exit 0 · 1 passed · /).waitFor();
  expect(await kept.locator(".receipt pre.code").textContent()).toBe(
    "<img src=x onerror=hit()><script>hit()</script>\n1..1\nok 1\n",
  );
  expect(await kept.locator(".receipt pre").first().textContent()).toContain("grep -q right kept.txt");
  expect(await violations(page)).toEqual([]);
  // A later turn changes the folder: the receipt does not hold any more, and the open page says so.
  const other = await createSession(client);
  await talk(client, other.id, "write another.txt text");
  await state("write kept.txt right", "void");
  await kept.getByText("files have changed since").waitFor();

  const check = `${hostile}; grep -q right step.txt || { echo make step.txt say right; exit 1; }`;
  const { run } = await client.call("startRun", {
    path: { workflow: "mend" },
    body: { args: { text: "wrong step.txt", check } },
  });
  await waitForRun(client, run.id);
  await go(page, `#/workflows/${run.id}`);
  const checks = page.getByRole("region", { name: "Checks" });
  await checks.locator("summary", { hasText: "verified" }).waitFor();
  await checks.locator("summary", { hasText: "check failed" }).click();
  await checks.locator("pre.code", { hasText: "<script>hit()</script>\nmake step.txt say right" }).waitFor();
  expect(await violations(page)).toEqual([]);

  const landing = await createSession(client, { isolation: "worktree" });
  await talk(client, landing.id, "write landed.txt fine");
  await go(page, `#/changes/${landing.id}`);
  await page.getByRole("heading", { name: `Changes of ${landing.handle}` }).waitFor();
  await client.call("landSession", { path: { session: landing.id }, body: { check: `${hostile}; exit 3` } });
  await checks.locator("summary", { hasText: "check failed landing" }).click();
  await checks
    .getByText(/^exit 3 · /)
    .first()
    .waitFor();
  await checks.locator("pre.code", { hasText: "<script>hit()</script>" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Land", exact: true }).click();
  await page.getByText("unverified: no check ran.").waitFor();

  expect(await page.evaluate("hits")).toBe(0);
  expect(await page.locator(".receipt img, .receipt script, .receipts img").count()).toBe(0);
  expect(left).toEqual([]);
  expect(errors).toEqual([]);
});
