/** What plugin authors import as "aegis". Whatever is named here is public API. */
export { z } from "zod";
export * from "./bare.ts";
