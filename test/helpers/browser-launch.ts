/**
 * A real Chromium from the npm registry. The package's own arguments switch off
 * web security, which would make every security test worthless, so they are filtered.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const unsafe =
  /single-process|no-zygote|site-isolation|disable-web-security|insecure|use-gl|use-angle|swiftshader|in-process-gpu|gpu-blocklist|^--headless|disable-features|enable-features/;

export async function launchBrowser(extra: readonly string[] = []): Promise<Browser> {
  const executablePath = await unpacked();
  const { default: packaged } = await import("@sparticuz/chromium");
  const args = [...packaged.args.filter((argument) => !unsafe.test(argument)), "--disable-gpu", ...extra];
  return await chromium.launch({ executablePath, args, headless: true });
}

/**
 * The executable, unpacked once per user and version. The package writes the final name directly, so that a second
 * process would start a file that is still being written.
 */
async function unpacked(): Promise<string> {
  const folder = join(tmpdir(), `aegis-chromium-${userInfo().uid}-153`);
  const ready = join(folder, "chromium");
  const lock = `${folder}.lock`;
  while (!existsSync(ready)) {
    if (!tryLock(lock)) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    const before = process.env.TMPDIR;
    try {
      if (existsSync(ready)) break;
      const own = `${folder}.${process.pid}`;
      mkdirSync(own, { recursive: true });
      process.env.TMPDIR = own;
      const { default: packaged } = await import("@sparticuz/chromium");
      await packaged.executablePath();
      rmSync(folder, { recursive: true, force: true });
      renameSync(own, folder);
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(lock, { force: true });
    }
  }
  return ready;
}

/** A lock that a killed process left is a minute old at some time. */
function tryLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx"));
    return true;
  } catch {
    const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > 60_000) rmSync(lock, { force: true });
    return false;
  }
}
