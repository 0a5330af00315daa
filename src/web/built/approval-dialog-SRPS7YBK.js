import{a}from"/assets/chunk-TYA2X5M4.js";import"/assets/chunk-U33A5OOO.js";import"/assets/chunk-BRQS4RQQ.js";export{a as ApprovalDialog};
