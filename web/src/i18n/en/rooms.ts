export const rooms = {} as const;
