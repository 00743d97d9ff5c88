# The image that `gwctl provision` refers to: docker build -t gwctl:VERSION .
# Nothing is in it but Node.js, the libraries that it links, and the package that `npm run package` makes: no shell and no
# package manager. It runs as a user without a name, and writes nowhere but below /tmp.

# This Node.js builds. The one that serves is the one of package-lock.json, pinned by its hash.
FROM node:26.10.0-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund && npm run package -- --out /image/gwctl
RUN node=$(node -p "require.resolve('node-linux-' + process.arch + '/bin/node')") \
 && install -D "$node" /image/usr/local/bin/node \
 && for library in $(ldd "$node" | grep -o '/[^ ]*'); do cp --parents -L "$library" /image; done \
 && mkdir -m 1777 /image/tmp

FROM scratch
COPY --from=build /image /
USER 10101:10101
ENV NODE_ENV=production
EXPOSE 15020 15021
ENTRYPOINT ["/usr/local/bin/node", "/gwctl/bin/run.js"]
CMD ["--help"]
