/** The folder of a test's project, with a home of its own: nothing of this machine's user is seen. */
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { agreeAlways } from "@aegis/project/trust/agree.ts";
import { agreeToStore, storeFiles } from "./cluster.ts";
import { testFolder } from "./test-folder.ts";

export type ProjectFiles = Readonly<Record<string, string>>;

export type ProjectFolder = {
  /** Holds the project and the home. */
  folder: string;
  root: string;
  home: string;
  write(path: string, text: string | Uint8Array): Promise<void>;
  remove(): Promise<void>;
};

/** The files that a test writes are trusted, also those that it writes later, unless `trusted` is false. */
export async function projectFolder(files: ProjectFiles, { trusted = true } = {}): Promise<ProjectFolder> {
  const folder = await realpath(await mkdtemp(join(testFolder(), "aegis-project-")));
  // The rights of other users end here, which a daemon that runs as one of them must get past.
  await chmod(folder, 0o711);
  const [root, home] = [join(folder, "project"), join(folder, "home")];
  await mkdir(root);
  await mkdir(home);
  const write = async (path: string, text: string | Uint8Array) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const store = storeFiles(files);
  for (const [path, text] of Object.entries({ ...files, ...store })) await write(path, text);
  if (trusted) await agreeAlways({ root, env: { HOME: home } });
  else if (Object.keys(store).length > 0) await agreeToStore(root, home);
  return { folder, root, home, write, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}
