/** Which agent answers when none is named. */
import { chmod, mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Driver } from "@aegis/drivers/driver.ts";
import { gated, testDriver } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { type DetectOptions, detectAgents } from "../../src/harnesses/detect.ts";
import { probeOnce } from "../../src/harnesses/probe-cache.ts";

/** A machine with these commands, each with what is wrong with it. */
async function detect(commands: Record<string, string | null>, model: string | null = null) {
  const asked: string[] = [];
  const options: DetectOptions = {
    findCommand: async (name) => (name in commands ? `/bin/${name}` : null),
    probe: async (harness, path) => {
      asked.push(harness);
      const problem = commands[path.slice("/bin/".length)] ?? null;
      return { status: problem === null ? "ready" : "broken", detail: problem ?? "fine" };
    },
    findModel: async () => (model === null ? null : { model, why: "KEY is set" }),
  };
  const { agents, choice } = await detectAgents(options);
  return { choice, asked, agents };
}

describe("the default agent", () => {
  it("is the first harness that starts, and those behind it are not started to see", async () => {
    const { choice, asked, agents } = await detect({ claude: null, codex: null, gemini: null });
    expect(choice).toEqual({ slug: "claude", why: "Claude Code is installed (/bin/claude)" });
    expect(asked).toEqual(["claude-code"]);
    expect(agents.map((agent) => agent.slug)).toEqual(["claude", "codex", "gemini", "offline"]);
  });

  it("is not one that does not start, and the reason is told", async () => {
    const { choice, agents } = await detect({ claude: "no licence", codex: null });
    expect(choice).toEqual({
      slug: "codex",
      why: "Codex is installed (/bin/codex); Claude Code does not start: no licence",
    });
    expect(agents[0]?.description).toBe("Claude Code, found at /bin/claude, does not start: no licence");
  });

  it("is a model of its own, then the offline one, when no harness starts", async () => {
    expect((await detect({ claude: "no licence" }, "anthropic/m")).choice.slug).toBe("native");
    const { choice } = await detect({ claude: "no licence" });
    expect(choice.slug).toBe("offline");
    expect(choice.why).toContain("Claude Code does not start: no licence");
  });
});

describe("whether a harness starts", () => {
  async function machine(status: "ready" | "broken") {
    const home = await tempDir();
    const path = join(home, "bin", "claude");
    await mkdir(join(home, "bin"));
    await writeFile(path, "v1");
    await chmod(path, 0o755);
    let asked = 0;
    const driver: Driver = {
      ...testDriver(gated().reply),
      async probe() {
        asked += 1;
        const fix = status === "ready" ? null : "mend it";
        return { status, version: "1.0.0", path, detail: `version ${asked}`, fix };
      },
    };
    return { home, path, ask: () => probeOnce(driver, path, home), count: () => asked };
  }

  it("is asked once for one program, and again when the program changes", async () => {
    const { home, path, ask, count } = await machine("ready");
    expect((await ask()).detail).toBe("version 1");
    expect(await ask()).toMatchObject({ status: "ready", detail: "version 1", path });
    expect(count()).toBe(1);
    await utimes(path, 1, 1);
    expect((await ask()).detail).toBe("version 2");
    await writeFile(join(home, ".aegis", "cache", "harnesses.json"), "{ torn");
    expect((await ask()).detail).toBe("version 3");
    expect(JSON.parse(await readFile(join(home, ".aegis", "cache", "harnesses.json"), "utf8"))).toHaveProperty([path]);
  });

  it("is asked each time while it does not", async () => {
    const { ask, count } = await machine("broken");
    await ask();
    expect((await ask()).status).toBe("broken");
    expect(count()).toBe(2);
  });
});
