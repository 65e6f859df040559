/** Questions about real processes. */
import { fileURLToPath } from "node:url";
import { systemProcessTable } from "@aegis/lib/process/table.ts";

/** True while the process runs; one that waits to be collected does not. */
export function isRunning(pid: number): boolean {
  const info = systemProcessTable().get(pid);
  return info !== null && !info.zombie;
}

/** The path of an executable under `test/fixtures/bin`. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/bin/${name}`, import.meta.url));
}
