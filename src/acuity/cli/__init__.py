"""The commands: `vmaf` for scripts written for libvmaf, `acuity` for people."""
