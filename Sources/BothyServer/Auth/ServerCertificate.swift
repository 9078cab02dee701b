package import NIOSSL
import Synchronization

/// The certificate for new connections. Open connections keep the one with which they began.
package final class ServerCertificate: Sendable {
  private let files: TLSFiles
  private let current: Mutex<NIOSSLContext>

  /// Reads the files. Throws a `BothyError` that names the one that can't be used.
  package init(_ files: TLSFiles) throws {
    self.files = files
    current = Mutex(try files.context())
  }

  package var context: NIOSSLContext { current.withLock { $0 } }

  /// Reads the files again. Throws like `init`, and keeps the certificate then.
  package func reload() throws {
    let context = try files.context()
    current.withLock { $0 = context }
  }
}
