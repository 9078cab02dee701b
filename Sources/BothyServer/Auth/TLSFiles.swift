import BothyStore
import NIOSSL

/// The server's certificate and its private key. Connections use TLS 1.2 or later, and HTTP/1.1.
public struct TLSFiles: Sendable, Hashable {
  /// The path of a PEM file: the server's certificate first, then those between it and the root.
  public var certificate: String
  /// The path of a PEM file with the private key, without a password.
  public var key: String

  /// Creates the value without reading the files. `BothyServer.run()` reads both, and throws for one that
  /// can't be used.
  ///
  /// It reads them again when they change. New connections get the new certificate, and if it can't be used,
  /// the one before. A failure is logged once for each change.
  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }

  /// Reads the files, and returns TLS 1.2 or later with the library's choice of ciphers. Throws a `BothyError` that names
  /// the file.
  func context() throws -> NIOSSLContext {
    let configuration = try configuration()
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw BothyError(
        .invalidValue,
        "The TLS key \(key) does not belong to the certificate \(certificate). Give both again.",
        underlying: error)
    }
  }

  private func configuration() throws -> TLSConfiguration {
    let certificates: [NIOSSLCertificate]
    do {
      certificates = try NIOSSLCertificate.fromPEMFile(certificate)
      guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
    } catch {
      throw BothyError(
        .invalidValue, "The TLS certificate \(certificate) can't be used. Give a PEM file with the chain.",
        underlying: error)
    }
    let privateKey: NIOSSLPrivateKey
    do { privateKey = try NIOSSLPrivateKey(file: key, format: .pem) } catch {
      throw BothyError(
        .invalidValue, "The TLS key \(key) can't be used. Give a PEM file with a key that has no password.",
        underlying: error)
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(privateKey))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    return configuration
  }
}
