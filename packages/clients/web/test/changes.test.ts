// @module-tag slow
/** The review of changes in a real browser: files, lines, comments, approval, and what makes it hard to show. */
import { chmod, rename } from "node:fs/promises";
import { join } from "node:path";
import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { initGit, writingAgent } from "@aegis/test/helpers/git-project.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { createSession, eventsOf, hasSaid, messages, say, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";

const source = [
  "/** Adds. */",
  "export function add(a: number, b: number): number {",
  "  return a + b;",
  "}",
  "",
  "export const zero = 0;",
  "",
].join("\n");
const long = Array.from({ length: 6_000 }, (_, index) => `row ${index}`).join("\n");

const browser = sharedBrowser();
const shared = sharedDaemon({
  ...writingAgent,
  "src/math.ts": source,
  "src/old-name.ts": `${source}export const one = 1;\n`,
  "run.sh": "#!/bin/sh\n",
  "notes/long.txt": `${long}\n`,
  "package-lock.json": "{}\n",
});
beforeAll(async () => {
  await initGit(shared.project.dir);
});

const openPage = (options?: Parameters<typeof browser.open>[1]) => openWeb(browser, shared.daemon, options);

/** A session whose turn changed files of every kind. */
async function worked(hostile = "") {
  const { client } = shared.daemon;
  const session = await createSession(client);
  const gate = session.handle;
  await shared.project.write("src/math.ts", source);
  await say(client, session.id, `write made-by-${gate}.txt hello then hold ${gate}`);
  await hasSaid(client, session.id, `holding ${gate}`);
  const { project } = shared;
  await project.write("src/math.ts", source.replace("a + b", "a - b").replace("zero = 0", `zero = -0${hostile}`));
  await project.open(gate);
  await waitUntil(
    "the changes are recorded",
    async () => (await eventsOf(client, "changes.recorded", session.id)).length === 1,
  );
  return session;
}

async function openReview(page: Page, session: string, file?: string): Promise<void> {
  await go(page, `#/changes/${session}${file === undefined ? "" : `?file=${encodeURIComponent(file)}`}`);
  await page.waitForSelector(".review-lines td.line, .review-main .empty");
}

it("shows files with counts, marks words, and switches to two columns", async () => {
  const session = await worked();
  const { page, errors, left } = await openPage();
  await page.locator(".card", { hasText: session.handle }).getByText("2 files +3 −2").click();
  await page.getByRole("heading", { name: `Changes of ${session.handle}` }).waitFor();
  const files = page.getByRole("navigation", { name: "Changed files" });
  await files.getByRole("link", { name: "math.ts" }).click();
  await page.getByRole("heading", { name: "src/math.ts" }).waitFor();
  await page.locator("tr.add mark").first().waitFor();
  expect(await page.locator("tr.del mark").allTextContents()).toEqual(["+"]);
  expect(await page.locator("tr.add mark").allTextContents()).toEqual(["-", "-"]);
  await page.locator(".review-lines .syntax-key", { hasText: "export" }).first().waitFor();
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.locator(".review-lines.split").waitFor();
  const pair = page.locator(".review-lines.split tr", { hasText: "return a" });
  expect(await pair.count()).toBe(1);
  expect(await pair.locator("td.del").last().textContent()).toContain("return a + b;");
  expect(await pair.locator("td.add").last().textContent()).toContain("return a - b;");
  await page.getByRole("button", { name: "Unified" }).click();
  expect([errors, left]).toEqual([[], []]);
});

it("turns comments into one message by keyboard, keeps drafts over a reload, and approves", async () => {
  const { client } = shared.daemon;
  const session = await worked();
  const { page, errors } = await openPage();
  await openReview(page, session.id, "src/math.ts");
  await page.locator("tr[data-row='0']").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("c");
  await page.getByRole("textbox", { name: "Comment on line 3" }).fill("Add, do not subtract.");
  await page.keyboard.press("Control+Enter");
  await page.locator(".comments", { hasText: "Add, do not subtract." }).waitFor();
  await page.getByRole("button", { name: "Comment on line 6" }).last().click();
  await page.getByRole("textbox", { name: "Comment on line 6" }).fill("Zero has no sign.");
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.reload();
  await page.locator(".verdict", { hasText: "2 comments" }).waitFor();
  await page.getByLabel("Note to the agent").fill("Thank you.");
  await page.getByRole("button", { name: "Send back" }).click();
  await page.getByText("Sent back.").waitFor();
  await waitUntil("both are marked as sent", async () =>
    (await page.locator(".comments .badge").allTextContents()).every((text) => text === "sent"),
  );
  const bodies = async () => (await messages(client, session.id)).map(({ body }) => body);
  expect((await bodies()).at(-1)).toBe(
    [
      "I have reviewed your changes. Please address these comments:",
      "1. src/math.ts, line 3:\n>   return a - b;\nAdd, do not subtract.",
      "2. src/math.ts, line 6:\n> export const zero = -0;\nZero has no sign.",
      "Thank you.",
    ].join("\n\n"),
  );
  expect(await bodies()).toHaveLength(2);

  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("✓ Approved at").waitFor();
  expect((await bodies()).at(-1)).toMatch(/^I approve your changes: 2 files, \+3 -2\.\nTree [0-9a-f]{40}$/);
  // The page follows the session: a later turn changes what was approved, and the comment is outdated.
  await say(client, session.id, "hold later");
  await hasSaid(client, session.id, "holding later");
  await shared.project.write("src/math.ts", "gone\n");
  await shared.project.open("later");
  await page.getByText("The folder has changed since it was approved").waitFor();
  await page.getByText("lines that have changed since").waitFor();
  expect(errors).toEqual([]);
});

it("shows one turn, renames, modes, binary and generated files, and only a part of a long diff", async () => {
  const { client } = shared.daemon;
  const { dir, write, open } = shared.project;
  const session = await createSession(client);
  await talk(client, session.id, "write first.txt 1");
  await say(client, session.id, "hold kinds");
  await hasSaid(client, session.id, "holding kinds");
  await rename(join(dir, "src/old-name.ts"), join(dir, "src/new-name.ts"));
  await chmod(join(dir, "run.sh"), 0o755);
  await write("picture.png", Uint8Array.from([137, 80, 78, 71, 0, 1, 2, 3]));
  await write("notes/long.txt", `${long.replaceAll("row", "line")}\n`);
  await write("package-lock.json", '{"lockfileVersion": 3}\n');
  const { page, errors } = await openPage();
  // The turn is still running: the page shows what is on disk now.
  await openReview(page, session.id);
  const file = (name: string) => page.getByRole("navigation", { name: "Changed files" }).getByRole("link", { name });
  await file("picture.png").waitFor();
  await open("kinds");
  await waitUntil("both turns are recorded", async () => {
    return (await eventsOf(client, "changes.recorded", session.id)).length === 2;
  });
  await page.getByLabel("Turns").selectOption({ index: 2 });
  await file("first.txt").waitFor({ state: "detached" });
  await file("new-name.ts").click();
  await page.getByText("renamed from src/old-name.ts").waitFor();
  await file("run.sh").click();
  await page.getByText("mode 100644 → 100755 (executable)").waitFor();
  await page.getByText("No line differs.").waitFor();
  await file("picture.png").click();
  await page.getByText("A binary file has no lines to show.").waitFor();
  await file("package-lock.json").click();
  await page.getByRole("button", { name: "Show the diff" }).click();
  await page.locator("tr.add", { hasText: "lockfileVersion" }).waitFor();
  await file("long.txt").click();
  await page.getByText("12000 lines have changed.").waitFor();
  await page.getByRole("button", { name: "Show the diff" }).click();
  await page.locator("tr.del", { hasText: "row 0" }).first().waitFor();
  expect(await page.locator(".review-lines tr").count()).toBeLessThan(1_000);
  await page.evaluate(`document.querySelector(".review-lines").scrollTop = 1e9`);
  await page.locator("tr.add", { hasText: "line 5999" }).waitFor();
  expect(await page.locator(".review-lines tr").count()).toBeLessThan(1_000);
  expect(errors).toEqual([]);
});

it("shows hostile names and lines as text", async () => {
  const session = await worked('"><img src=x onerror="document.title=1"><script>document.title=2</script>');
  const { page, errors, left } = await openPage();
  await openReview(page, session.id, "src/math.ts");
  await page.locator("tr.add", { hasText: "<script>" }).waitFor();
  expect(await page.locator(".review img, .review script").count()).toBe(0);
  expect([errors, left]).toEqual([[], []]);
});

it.each(["light", "dark"] as const)("has no accessibility violation in %s, and fits a phone", async (colorScheme) => {
  const session = await worked();
  const { page } = await openPage({ colorScheme });
  await openReview(page, session.id, "src/math.ts");
  await page.getByRole("button", { name: "Comment on line 3" }).last().click();
  await page.getByRole("textbox", { name: "Comment on line 3" }).waitFor();
  await page.locator(".review-lines .syntax-key").first().waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Side by side" }).click();
  expect(await violations(page)).toEqual([]);
  await go(page, "#/changes");
  await page.locator(".changed-sessions").waitFor();
  expect(await violations(page)).toEqual([]);

  await page.setViewportSize({ width: 390, height: 844 });
  await go(page, `#/changes/${session.id}`);
  await page.getByRole("link", { name: "math.ts" }).click();
  await page.waitForSelector(".review-lines td.line");
  expect(await page.locator(".files").isVisible()).toBe(false);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "All files" }).click();
  await page.getByRole("link", { name: "math.ts" }).waitFor();
});
