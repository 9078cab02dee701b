import Foundation

/// A bucket on S3 or on a storage that speaks its protocol, and the place of a server's blobs in it.
public struct S3Bucket: Sendable, Hashable {
  /// The name of the bucket.
  public let name: String
  /// The beginning of all keys, empty or with a slash at its end.
  public let prefix: String
  /// The region that requests are signed for.
  public let region: String
  let credentials: S3Credentials
  /// The scheme and host of requests, such as `https://bucket.s3.eu-west-1.amazonaws.com`.
  let origin: String
  /// The host with its port, as requests name it.
  let host: String
  /// The encoded path of a key of no letters: `/`, or `/bucket/`.
  let root: String

  /// Creates the address of a bucket. Sends nothing.
  ///
  /// Throws `Unusable` for an address, a name or a prefix that can't be used.
  /// - Parameters:
  ///   - address: `s3://bucket` or `s3://bucket/prefix`. Two servers must not share a prefix, unless they share their
  ///     database. A prefix has letters, digits, `-`, `_`, `.` and slashes.
  ///   - endpoint: the address of another storage than AWS, such as `https://minio.example.org:9000`.
  ///   - usesHostNames: true if the endpoint takes the bucket's name as a part of the host, and not of the path.
  ///   - allowsHTTP: true if the endpoint may be unencrypted on another machine.
  public init(
    _ address: String, endpoint: String? = nil, region: String, credentials: S3Credentials,
    usesHostNames: Bool = false, allowsHTTP: Bool = false
  ) throws {
    guard address.hasPrefix("s3://") else {
      throw Unusable(
        "'\(address)' can't be the address of a bucket. Write s3://bucket or s3://bucket/prefix.")
    }
    let parts = address.dropFirst(5).split(separator: "/", omittingEmptySubsequences: true)
    guard let name = parts.first.map(String.init), Self.isBucket(name) else {
      throw Unusable("A bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens.")
    }
    let folders = parts.dropFirst()
    guard folders.allSatisfy({ $0 != "." && $0 != ".." && $0.isPlain }),
      folders.reduce(0, { $0 + $1.utf8.count + 1 }) <= Self.prefixLimit
    else {
      throw Unusable(
        "The prefix of '\(address)' may have letters, digits, -, _ and ., at most \(Self.prefixLimit) bytes.")
    }
    guard !region.isEmpty, region.isPlain else {
      throw Unusable("'\(region)' can't be a region. Write one such as eu-central-1.")
    }
    self.name = name
    prefix = folders.map { $0 + "/" }.joined()
    self.region = region
    self.credentials = credentials
    if let endpoint {
      let found = try Self.server(endpoint, allowsHTTP: allowsHTTP)
      host = usesHostNames ? "\(name).\(found.host)" : found.host
      origin = "\(found.scheme)://\(host)"
      root = usesHostNames ? "/" : "/\(name)/"
    } else {
      // A certificate of AWS covers one label before its host.
      let isOwnHost = !name.contains(".")
      host = (isOwnHost ? "\(name)." : "") + "s3.\(region).amazonaws.com"
      origin = "https://\(host)"
      root = isOwnHost ? "/" : "/\(name)/"
    }
  }

  /// The reason why the address of a bucket can't be used.
  public struct Unusable: Error, CustomStringConvertible {
    /// The sentence for an operator.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// S3 takes keys of 1,024 bytes. Those of blobs have fewer than 256 without the prefix.
  private static let prefixLimit = 512

  private static func isBucket(_ name: String) -> Bool {
    (3...63).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E
      }
  }

  /// Returns the scheme and host of an endpoint, without the default port.
  private static func server(
    _ endpoint: String, allowsHTTP: Bool
  ) throws -> (scheme: String, host: String) {
    let problem = Unusable(
      "'\(endpoint)' can't be the address of a storage. Write one such as https://minio.example.org:9000, without a path."
    )
    guard let parts = URLComponents(string: endpoint), let scheme = parts.scheme?.lowercased(),
      let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, ["", "/"].contains(parts.path),
      parts.query == nil, ["http", "https"].contains(scheme)
    else { throw problem }
    guard allowsHTTP || ConfidentialAddress.accepts(endpoint) else {
      throw Unusable("With '\(endpoint)' others can read the blobs on their way. Use https.")
    }
    let isDefault = parts.port == nil || parts.port == (scheme == "https" ? 443 : 80)
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return (scheme, isDefault ? name : "\(name):\(parts.port ?? 0)")
  }
}
