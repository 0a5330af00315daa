import{a}from"/assets/chunk-WITG5ITE.js";import"/assets/chunk-WVGUDPWV.js";import"/assets/chunk-3MSUAHKW.js";export{a as ApprovalDialog};
