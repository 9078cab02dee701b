import BothyCache
import BothyHTTP
import BothyTestSupport
import Foundation
import HTTPTypes

/// A real nginx as an origin of tiles: on a free port, with entity tags and gzip, in a folder of its own.
///
/// `BOTHY_NGINX` is the path of its program. `scripts/test-cache-origin` sets it.
final class NginxOrigin: @unchecked Sendable {
  // Unchecked because of the process. Only `start` and `stop` use it, and a test calls them one after the other.
  static let program = ProcessInfo.processInfo.environment["BOTHY_NGINX"]

  private let temporary: TemporaryFolder
  var folder: URL { temporary.url }
  let port: Int
  var url: String { "http://127.0.0.1:\(port)" }
  private var process: Process?

  init() throws {
    temporary = try TemporaryFolder()
    port = Int(try FreePort().number)
    for name in ["files", "temp"] {
      try FileManager.default.createDirectory(
        at: folder.appending(path: name), withIntermediateDirectories: true)
    }
    try Data(configuration.utf8).write(to: folder.appending(path: "nginx.conf"))
  }

  deinit { stop() }

  private var configuration: String {
    """
    daemon off; master_process off; pid \(folder.path)/nginx.pid; error_log \(folder.path)/error.log;
    events { worker_connections 1024; }
    http {
      log_format seen '$request_method $uri $status "$http_if_none_match" "$http_range" "$http_accept_encoding"';
      access_log \(folder.path)/access.log seen;
      client_body_temp_path \(folder.path)/temp; proxy_temp_path \(folder.path)/temp;
      fastcgi_temp_path \(folder.path)/temp; uwsgi_temp_path \(folder.path)/temp; scgi_temp_path \(folder.path)/temp;
      types { application/json json; image/png png; text/html html; }
      gzip on; gzip_types application/json; gzip_min_length 100; gzip_proxied any;
      keepalive_requests 100000;
      server {
        listen 127.0.0.1:\(port); root \(folder.path)/files;
        location /slow/ { alias \(folder.path)/files/; limit_rate_after 1m; limit_rate 8k; }
        location /late/ { alias \(folder.path)/files/; gzip off; limit_rate 4k; }
        location /latest/ { alias \(folder.path)/files/; gzip off; limit_rate 200; }
        location /moved/ { return 301 /files/tile.json; }
        location /files/ { alias \(folder.path)/files/; }
        location /busy/ { add_header Retry-After 1 always; return 503; }
        location /hungup/ { return 444; }
        location /old/ { alias \(folder.path)/files/; expires 1h; }
      }
    }

    """
  }

  func put(_ name: String, _ data: Data) throws {
    try data.write(to: folder.appending(path: "files/\(name)"))
  }

  /// Starts nginx and waits until it responds.
  func start() async throws {
    guard let program = Self.program else { throw LoadFailure(.invalidRequest, "BOTHY_NGINX is not set.") }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-p", folder.path, "-c", folder.appending(path: "nginx.conf").path]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    self.process = process
    let loader = platformLoader()
    while process.isRunning {
      if (try? await loader.load(ResourceRequest(url + "/marker-of-start"))) != nil { return }
    }
    let log = try? String(contentsOf: folder.appending(path: "error.log"), encoding: .utf8)
    throw LoadFailure(.unreachable, "nginx did not start: \(log ?? "no log")")
  }

  /// Ends nginx at once, with all its connections.
  func stop() {
    guard let process else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    self.process = nil
  }

  /// Returns a line for each request so far: method, path, status and conditions.
  ///
  /// nginx writes a line after a response is sent. A last request of this method ensures that all earlier lines exist.
  func requests() async throws -> [String] {
    let marker = "/marker-\(UUID().uuidString)"
    _ = try await platformLoader().load(ResourceRequest(url + marker))
    while true {
      let log = try String(contentsOf: folder.appending(path: "access.log"), encoding: .utf8)
      if log.contains(marker) {
        return log.split(separator: "\n").map(String.init).filter { !$0.contains("/marker-") }
      }
      await Task.yield()
    }
  }
}
