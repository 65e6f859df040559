// @module-tag slow
/** A first start that was cut off, over state of one's own. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { used } from "../helpers/projects/own-state.ts";
import { done } from "../helpers/projects/stranger.ts";
import { scaled } from "../helpers/slowness.ts";

it("a first start that was cut off at any step neither locks its user out nor lets a database in", {
  timeout: scaled(120_000),
}, async () => {
  const finished = await used();
  const foreign = await readFile(join(finished.root, ".aegis/state/aegis.db"));
  const at = await aegisProject();
  await done(at, "up");
  await done(at, "down");
  const [state, registry] = [join(at.root, ".aegis/state"), join(at.env.HOME ?? "", ".aegis/projects")];
  const [name = ""] = (await readdir(registry)).filter((one) => one.endsWith(".json"));
  const [marker, entry] = [
    await readFile(join(state, "owner.json")),
    JSON.parse(await readFile(join(registry, name), "utf8")),
  ];
  const begun = { ...entry, file: null, closed: null };
  // What the disk holds after each step, in their order: the folder, the registration, the marker, the draft.
  const steps: { registered: boolean; marked: boolean; draft: boolean }[] = [
    { registered: false, marked: false, draft: false },
    { registered: true, marked: false, draft: false },
    { registered: true, marked: true, draft: false },
    { registered: true, marked: true, draft: true },
  ];
  for (const planted of [false, true]) {
    for (const { registered, marked, draft } of steps) {
      for (const folder of [state, registry]) {
        await rm(folder, { recursive: true });
        await mkdir(folder);
      }
      if (registered) await writeFile(join(registry, name), JSON.stringify(begun));
      if (marked) await writeFile(join(state, "owner.json"), marker);
      if (draft) await writeFile(join(state, "aegis.db.new"), foreign);
      if (planted) await writeFile(join(state, "aegis.db"), foreign);
      const { code } = await at.aegis("up");
      expect({ registered, marked, draft, planted, code }).toEqual({
        registered,
        marked,
        draft,
        planted,
        code: planted ? 3 : 0,
      });
      if (!planted) expect(await done(at, "ps")).not.toContain("first-one");
      await done(at, "down");
    }
  }
});
