import type { Size } from "./size.js";

export enum Kind { square, circle }

export const area = ({ width, height }: Size): number => width * height;
