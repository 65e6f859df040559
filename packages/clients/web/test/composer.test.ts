/** The composer in a real browser: names of files, and images that the transcript shows. */

import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { nativeConfig } from "@aegis/test/helpers/fake-models/config.ts";
import { openaiChatWire } from "@aegis/test/helpers/fake-models/openai-chat.ts";
import { fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import { initGit, writingAgent } from "@aegis/test/helpers/git-project.ts";
import { sharedDaemon, testProject } from "@aegis/test/helpers/project.ts";
import { createSession, messages } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { beforeAll, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";

const browser = sharedBrowser();
const shared = sharedDaemon({
  ...writingAgent,
  ".gitignore": "gates/\n.aegis/\nsecret/\n",
  "src/parser.ts": "export {};\n",
  "src/parser.test.ts": "export {};\n",
  "docs/the-parser.md": "text\n",
  "secret/parser-key.txt": "hidden\n",
  "<img src=x onerror=alert(1)>.txt": "hostile\n",
});
beforeAll(async () => {
  await initGit(shared.project.dir);
});

it("completes names of files by keyboard, without ignored ones", { tags: "slow" }, async () => {
  const { client } = shared.daemon;
  const session = await createSession(client);
  const { page, errors, left } = await openWeb(browser, shared.daemon);
  await go(page, `#/s/${session.id}`);
  const box = page.getByLabel(`Message to ${session.handle}`);
  await box.pressSequentially("Look at @pars");
  const options = page.getByRole("listbox", { name: "Files" }).getByRole("option");
  await waitUntil("the files are listed", async () => (await options.count()) === 3);
  expect(await options.allTextContents()).toEqual(["parser.ts src/", "parser.test.ts src/", "the-parser.md docs/"]);
  expect(await box.getAttribute("aria-activedescendant")).toBe("completion-0");
  expect(await violations(page)).toEqual([]);
  await box.press("ArrowDown");
  await box.press("Enter");
  expect(await box.inputValue()).toBe("Look at @src/parser.test.ts ");
  await box.pressSequentially("and @img");
  await options.filter({ hasText: "onerror" }).waitFor();
  await box.press("Escape");
  await options.first().waitFor({ state: "detached" });
  await box.press("Enter");
  await page.locator(".markdown", { hasText: "you said: Look at @src/parser.test.ts and @img" }).waitFor();

  // A completion in the middle keeps the rest of the text.
  await box.fill("see @thep now");
  for (let left = 0; left < " now".length; left++) await box.press("ArrowLeft");
  await options.filter({ hasText: "the-parser.md" }).click();
  expect(await box.inputValue()).toBe("see @docs/the-parser.md  now");
  expect([errors, left]).toEqual([[], []]);
  const find = async (q: string) =>
    (await client.call("findFiles", { path: { session: session.id }, query: { q } })).files;
  expect(await find("../")).toEqual([]);
  expect(await find("secret")).toEqual([]);
});

it("shows the images of a message", { tags: "slow" }, async () => {
  const models = await fakeModels(openaiChatWire, () => ({ text: "I see a dot." }));
  const project = await testProject({ ".aegis.yaml": nativeConfig(models) });
  const daemon = await project.start();
  const session = await createSession(daemon.client);
  const { page, errors, left } = await openWeb(browser, daemon);
  await go(page, `#/s/${session.id}`);
  await page.getByLabel(`Message to ${session.handle}`).fill("look");
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(".composer").dispatchEvent(drop);
  })()`);
  await page.locator(".chip", { hasText: "dot.png" }).waitFor();
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".markdown", { hasText: "I see a dot." }).waitFor();
  const image = page.getByRole("img", { name: "dot.png" });
  await waitUntil(
    "the image is drawn",
    async () => (await page.evaluate(`document.querySelector(".message-image img")?.naturalWidth`)) === 1,
  );
  expect(await image.getAttribute("src")).toMatch(/^blob:/);
  expect(await violations(page)).toEqual([]);
  expect([errors, left]).toEqual([[], []]);

  const [sent] = await messages(daemon.client, session.id);
  const bad = daemon.client.call("getAttachment", {
    path: { message: sent?.id ?? "", sha256: "0".repeat(64) } as never,
  });
  await expect(bad).rejects.toMatchObject({ code: "not_found" });
});
