/** One browser for all tests of a file, and pages that report what they tried. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { launchBrowser } from "./browser-launch.ts";
import { scaled } from "./slowness.ts";

export type Opened = {
  page: Page;
  /** Addresses of other origins that the page has asked for. */
  left: string[];
  /** Errors of scripts, and refusals of the content security policy. */
  errors: string[];
};

export type SharedBrowser = {
  /** A page in a context of its own, which ends with the test. `init` runs before the scripts of the page. */
  open(url: string, options?: BrowserContextOptions & { init?: string }): Promise<Opened>;
};

/** One browser for all tests of a file. */
export function sharedBrowser(extra: readonly string[] = []): SharedBrowser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser(extra);
  }, scaled(60_000));
  afterAll(async () => {
    await browser?.close();
  });
  return {
    async open(url, { init, ...options } = {}) {
      if (browser === undefined) throw new Error("the browser has not been started");
      // Under LANG=C Chromium names a language that Intl refuses.
      const context = await browser.newContext({ locale: "en-US", reducedMotion: "reduce", ...options });
      context.setDefaultTimeout(scaled(10_000));
      onTestFinished(() => context.close());
      const page = await context.newPage();
      if (init !== undefined) await page.addInitScript(init);
      const left: string[] = [];
      const errors: string[] = [];
      page.on("request", (request) => {
        if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith("blob:"))
          left.push(request.url());
      });
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error") errors.push(message.text());
      });
      await page.goto(url);
      return { page, left, errors };
    },
  };
}
