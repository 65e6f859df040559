/** Places for packages in a folder of one test. */
import { join } from "node:path";
import type { InstallPlace } from "@aegis/installer/place.ts";

export function testPlaces(dir: string): Record<InstallPlace["scope"], InstallPlace> {
  const place = (scope: InstallPlace["scope"], root: string): InstallPlace => ({
    scope,
    root,
    base: ".aegis",
    installs: join(root, "installs"),
    exclusively: (work) => work(),
    signer: { sign: () => "", verifies: () => true },
    seal: async () => {},
  });
  return { project: place("project", dir), user: place("user", join(dir, "home")) };
}
