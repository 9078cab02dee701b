import ArgumentParser
import BothyCache
import BothyHTTP
import BothyServer
import BothyStore
import Foundation
import Logging

/// `bothy cache proxy`: an HTTP cache in front of one origin.
struct CacheProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Answers HTTP requests from a cache in front of one origin, until interrupted.",
    discussion: """
      Prints one line with its address when it is ready. Follows RFC 9111 as a
      cache with several users: what the origin allows to be kept is kept in --store
      and answered from there, with its Age. What it marks as private isn't kept,
      and a request with an Authorization field, a cookie or a key passes through,
      so each user has their own answer. With --private there is one user, and it
      keeps private answers and cookies too, as a browser does. Stale copies are
      confirmed with the origin, and stand in for it when it fails unless it forbids
      that. Other methods than GET pass through and remove what they outdate. Four
      variants of an address are kept (Vary).
      It answers under IP addresses, localhost, --host, the origin's name and the
      names of --allow-host only, and takes no changes from pages of other sites.

      Example:  bothy cache proxy --origin https://tiles.example.org --listen 8081
                curl -i http://127.0.0.1:8081/16/10472/22982.png
      """)

  @Option(
    help: ArgumentHelp("The server behind it: an address that paths are appended to.", valueName: "url"))
  var origin: String
  @Option(help: ArgumentHelp("The port; 0 lets the system choose.", valueName: "port")) var listen = 8081
  @Option(help: ArgumentHelp("The address to listen on.", valueName: "name")) var host = "127.0.0.1"
  @Option(help: ArgumentHelp("A further name that it answers under; repeatable.", valueName: "name"))
  var allowHost: [String] = []
  @Flag(name: .customLong("private"), help: "Serve one user alone, and keep what is private.") var isPrivate =
    false
  @OptionGroup var store: CacheStoreOptions
  @Option(help: "From which level on logs are written to standard error.") var logLevel = Logger.Level.info
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(listen) else { throw ValidationError("--listen is a port from 0 to 65535.") }
  }

  func run() async throws {
    let clock = try CLIClock()
    let loader = HTTPLoader.system
    let cache = try store.open(try store.sources(), loader: loader)
    var configuration = CacheProxyConfiguration(
      port: listen, source: try CacheProxyConfiguration.source(origin: origin, isPrivate: isPrivate),
      cache: cache,
      loader: loader, logger: logger())
    configuration.host = host
    configuration.allowedHosts = allowHost
    configuration.now = { clock.now() }
    let proxy = CacheProxy(configuration)
    let (output, origin) = (output, origin)
    let running = RunningService(host: host, port: listen, portOption: "--listen", logger: logger())
    try await running.run(proxy) {
      // If the proxy fails to start, its own task reports why.
      guard let address = try? await proxy.ready() else { return }
      try output.print {
        "Serving \(origin) on \(address.url)"
      } json: {
        $0.member("url", address.url)
        $0.member("origin", origin)
      }
    }
    try await cache.close()
  }

  private func logger() -> Logger {
    var logger = Logger(label: "bothy.cache")
    logger.logLevel = logLevel
    return logger
  }
}
