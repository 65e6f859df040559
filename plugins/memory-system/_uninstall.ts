/** The memory belongs to the user, so it is deleted only on request. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { InstallContext } from "aegis";

export async function uninstall(context: InstallContext): Promise<void> {
  const dir = join(context.projectRoot, ".aegis", "memory");
  const names = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = names.filter((entry) => entry.isFile());
  if (files.length === 0) return;
  const question = `Delete the memory: ${files.length} files in .aegis/memory?`;
  if (!context.purge && !(await context.confirm(question, { default: false }))) {
    context.console.log("the memory stays in .aegis/memory");
    return;
  }
  for (const file of files) {
    const path = join(file.parentPath, file.name);
    await context.files.remove(path.slice(context.projectRoot.length + 1));
  }
}
