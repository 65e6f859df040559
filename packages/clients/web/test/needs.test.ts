/** Work that waits for a person besides asks, on the home page in a real browser. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { initGit, writingAgent } from "@aegis/test/helpers/git-project.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { createSession, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { openWeb, violations } from "./pages.ts";

const browser = sharedBrowser();
const shared = sharedDaemon(writingAgent);

it("shows finished work in a worktree with its size, and lands it from the card", async () => {
  const { client } = shared.daemon;
  await initGit(shared.project.dir);
  const session = await createSession(client, { title: "Add a greeting", isolation: "worktree" });
  await talk(client, session.id, "write greeting.txt hello");
  const { page, errors } = await openWeb(browser, shared.daemon);
  const card = page.locator("#column-needs .card.need", { hasText: "Add a greeting" });
  await card.getByText("ready to land").waitFor();
  await card.getByText("1 file").waitFor();
  await card.getByText("not checked").waitFor();
  expect(await page.locator("#column-needs h2 .number").textContent()).toBe("1");
  expect(await violations(page)).toEqual([]);
  await card.getByRole("button", { name: "Land on main" }).click();
  await card.waitFor({ state: "detached" });
  // The card leaves when the landing begins.
  await waitUntil("it has landed", async () => (await client.call("listLandings")).landings[0]?.state === "landed");
  expect(await readFile(join(shared.project.dir, "greeting.txt"), "utf8")).toContain("hello");
  expect(errors).toEqual([]);
});
