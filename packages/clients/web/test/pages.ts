/** What tests of the web app do with a page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Opened, SharedBrowser } from "@aegis/test/helpers/browser.ts";
import type { Daemon } from "@aegis/test/helpers/project.ts";
import type { Page } from "playwright-core";
import { webLink } from "./web-project.ts";

/** A browser with access, at the home page. */
export async function openWeb(
  browser: SharedBrowser,
  daemon: Pick<Daemon, "client">,
  options: Parameters<SharedBrowser["open"]>[1] = {},
): Promise<Opened> {
  const opened = await browser.open(await webLink(daemon.client), options);
  await opened.page.waitForSelector(".shell");
  return opened;
}

export async function go(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations of WCAG A and AA, as "rule: element". */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return (await page.evaluate(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] }).then((it) =>
    it.violations.flatMap((one) => one.nodes.map((node) => one.id + ": " + node.html.slice(0, 120))))`)) as string[];
}
