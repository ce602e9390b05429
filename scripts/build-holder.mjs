console.error("no holder yet");
process.exit(1);
