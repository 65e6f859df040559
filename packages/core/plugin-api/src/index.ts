/** The entry point "aegis" for plugin authors. Every export of this file is public API. */
export { z } from "zod";
export * from "./bare.ts";
