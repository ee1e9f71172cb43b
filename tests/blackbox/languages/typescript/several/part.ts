export type Words = string[];

export const join = (words: Words): string => words.join("+");
