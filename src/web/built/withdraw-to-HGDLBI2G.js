import{a}from"/assets/chunk-ZUI4L6GV.js";import"/assets/chunk-ICN74VCP.js";import"/assets/chunk-VKDTAVVP.js";import"/assets/chunk-CTPTBO5K.js";export{a as Withdraw};
