/** Everything that an agent writes is hostile: no script runs, nothing leaves the origin, no link runs or misleads. */

import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { answerTo, createSession, openAsk, say } from "@aegis/test/helpers/talk.ts";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { payloads } from "./payloads.ts";
import { webLink, webProject } from "./web-project.ts";

const shared = sharedDaemon(webProject);
const browser = sharedBrowser(["--host-resolver-rules=MAP evil.test 127.0.0.1"]);
const hostile = payloads("http://evil.test:9");

/** Counts calls of `hit`, and dialogs. */
async function watchScripts(page: Page): Promise<() => Promise<number>> {
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await page.evaluate("globalThis.hits = 0; globalThis.hit = () => { globalThis.hits += 1; }");
  return async () => dialogs + Number(await page.evaluate("globalThis.hits"));
}

/** What the page has made of agents' texts, that could act. Runs in the page. */
const dangers = `(() => {
  const found = [];
  for (const element of document.querySelectorAll(".markdown *, .card *, .message *, .ask *")) {
    const name = element.localName;
    if (["script", "iframe", "img", "object", "embed", "video", "audio", "style", "link", "meta", "base", "form", "image"].includes(name) && !element.matches(".ask"))
      found.push(name);
    for (const { name: attribute } of element.attributes)
      if (attribute.startsWith("on") || ["srcdoc", "formaction", "action", "src", "srcset", "poster"].includes(attribute))
        found.push(name + " " + attribute);
    if (name === "a") {
      const href = element.getAttribute("href") ?? "";
      const own = href.startsWith("#/") && !element.closest(".markdown");
      if (!own && !/^(https?|mailto):/.test(href)) found.push("a " + href);
      if (!own && !element.relList.contains("noopener")) found.push("a without noopener");
      if (/@/.test(new URL(href, "http://x").host) || new URL(href, "http://x").username !== "") found.push("a " + href);
    }
  }
  return found;
})()`;

it(`shows ${hostile.length} hostile texts without running or fetching anything`, { tags: "slow" }, async () => {
  const { client, file } = shared.daemon;
  const session = await createSession(client, { title: hostile[1] ?? "" });
  const receipts = [];
  for (const text of hostile) receipts.push(await say(client, session.id, `echo ${text}`));
  for (const receipt of receipts) await answerTo(client, receipt, 60_000);

  const { page, left, errors } = await browser.open(await webLink(client));
  const scripts = await watchScripts(page);
  await page.waitForSelector(".card");
  expect(await page.evaluate(dangers)).toEqual([]);
  await page.evaluate(`location.hash = "#/s/${session.id}"`);
  await page.waitForSelector(".markdown");
  // Goes through the whole transcript, because only rows near the view are in the page.
  let shown = 0;
  for (let step = 0; ; step++) {
    expect(await page.evaluate(dangers)).toEqual([]);
    shown += Number(await page.evaluate(`document.querySelectorAll(".markdown").length`));
    const top = await page.evaluate(`(() => {
      const list = document.querySelector(".scroller");
      list.scrollTop -= list.clientHeight;
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(list.scrollTop))));
    })()`);
    if (top === 0 && step > 3) break;
  }
  expect(shown).toBeGreaterThan(hostile.length);
  expect(await scripts()).toBe(0);
  expect(left).toEqual([]);
  expect(errors).toEqual([]);
  expect(new URL(page.url()).origin).toBe(file.url);
  // A link whose text is another address says where it leads.
  expect(await page.evaluate(`[...document.querySelectorAll(".markdown a")].length`)).toBeGreaterThanOrEqual(0);
});

it("shows hostile questions, tools and titles as text", async () => {
  const { client } = shared.daemon;
  const session = await createSession(client, { title: "<img src=x onerror=hit()>" });
  await say(client, session.id, "may you <img src=x onerror=hit()><script>hit()</script>");
  await openAsk(client);
  const { page, left, errors } = await browser.open(await webLink(client));
  const scripts = await watchScripts(page);
  const form = page.locator("form.ask").first();
  await form.waitFor();
  expect(await form.textContent()).toContain("<script>hit()</script>");
  expect(await page.evaluate(dangers)).toEqual([]);
  await form.getByRole("button", { name: "Deny" }).click();
  await form.waitFor({ state: "detached" });
  expect(await scripts()).toBe(0);
  expect([left, errors]).toEqual([[], []]);
});

it("cannot be framed, and other origins cannot read its answers", async () => {
  const { client, file } = shared.daemon;
  const { page } = await browser.open(await webLink(client));
  await page.waitForSelector(".shell");
  const foreign = await page.context().newPage();
  await foreign.route("http://evil.test:9/", (route) =>
    route.fulfill({ contentType: "text/html", body: `<iframe src="${file.url}/"></iframe>` }),
  );
  await foreign.goto("http://evil.test:9/");
  const frame = foreign.frames().find((one) => one !== foreign.mainFrame());
  await foreign.waitForLoadState("load");
  expect(await frame?.locator(".shell, .closed").count()).toBe(0);
  // Also proves that the browser of these tests enforces the same-origin policy.
  const read = `fetch("${file.url}/v1/status", { credentials: "include" }).then(() => "read", () => "blocked")`;
  expect(await foreign.evaluate(read)).toBe("blocked");
});
