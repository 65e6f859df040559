/** State of one's own: it goes on after a crash, a move and a rename, and never in two places at once. */
import { cp, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { there, used } from "../helpers/projects/own-state.ts";
import { done } from "../helpers/projects/stranger.ts";

describe.each([
  ["a clean stop", false],
  ["a crash", true],
])("after %s", (_, crash) => {
  it("a project that was moved goes on without a question", { tags: "slow" }, async () => {
    const at = await used(crash);
    const place = join(dirname(at.root), "moved");
    await rename(at.root, place);
    await mkdir(at.root);
    await there(at, place, async (run) => {
      expect(await run("ps")).toMatch(/^0 [\s\S]*first-one/);
    });
  });

  it("a copy is not used while the original is there, and both stay apart once it is adopted", {
    tags: "slow",
  }, async () => {
    const at = await used(crash);
    const place = join(dirname(at.root), "copy");
    await cp(at.root, place, { recursive: true });
    await there(at, place, async (run) => {
      expect(await run("up")).toContain(
        `3 aegis: the state in ${place}/.aegis/state is not known to be yours: it is a copy of ${at.root}`,
      );
      expect(await done(at, "ps")).toContain("first-one");
      expect(await run("up")).toMatch(/^3 /);
      expect(await run("state", "adopt", "--yes")).toMatch(/^0 /);
      expect(await run("ps")).toMatch(/^0 [\s\S]*first-one/);
      expect(await done(at, "ps")).toContain("first-one");
    });
  });

  it("state without its marker or its registration has to be adopted, and is not lost", { tags: "slow" }, async () => {
    for (const lost of ["marker", "registration"]) {
      const at = await used(crash);
      if (lost === "marker") await rm(join(at.root, ".aegis/state/owner.json"));
      else await rm(join(at.env.HOME ?? "", ".aegis/projects"), { recursive: true });
      const reason = lost === "marker" ? "unmarked" : "unregistered";
      expect(await at.json("up")).toMatchObject({ error: { details: { reason } } });
      await done(at, "state", "adopt", "--yes");
      expect(await done(at, "ps")).toContain("first-one");
    }
  });
});
