/** Creates a new plugin: all of its files or none. */
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import { exists, isErrno } from "../../lib/files.ts";
import { pluginNameProblem } from "../../runtime/plugins/manifest.ts";
import { linkAegis } from "./link.ts";
import { type PluginKind, pluginFiles, type TemplateFile } from "./templates.ts";

export type Scaffolded = { place: string; files: Pick<TemplateFile, "path" | "about">[] };

/** Creates the plugin's folder in `dir`. Throws `invalid` for a wrong name and `conflict` for a name in use. */
export async function scaffoldPlugin(dir: string, name: string, kind: PluginKind): Promise<Scaffolded> {
  const problem = pluginNameProblem(name);
  if (problem !== null) throw new AegisError("invalid", `name: ${problem}`);
  const place = join(dir, name);
  const taken = () =>
    new AegisError("conflict", `${place} is there already, and nothing was written`, { hint: "choose another name" });
  if (await exists(place)) throw taken();
  await mkdir(dirname(place), { recursive: true });
  // The name starts with a dot, so daemons ignore the folder until it is complete.
  const draft = await mkdtemp(join(dir, ".new-"));
  try {
    const files = pluginFiles(name, kind);
    for (const { path, text } of files) await writeFile(join(draft, path), text);
    await linkAegis(draft);
    // `mkdtemp` makes the folder private; the finished plugin is readable like other project files.
    await chmod(draft, 0o755);
    await rename(draft, place);
    return { place, files: files.map(({ path, about }) => ({ path, about })) };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (isErrno(error, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw taken();
    throw error;
  }
}
