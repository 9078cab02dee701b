import ArgumentParser
import BothyServer
import BothySyncService
import Foundation
import Logging

/// The options of commands that take `--blobs`, for blobs on S3.
struct S3Options: ParsableArguments {
  @Option(
    name: .customLong("s3-endpoint"),
    help: ArgumentHelp(
      "The address of the storage of --blobs s3://…, if it isn't AWS, such as https://minio.example.org:9000.",
      valueName: "URL"))
  var endpoint: String?
  @Option(
    name: .customLong("s3-region"),
    help: ArgumentHelp(
      "The region of the bucket; AWS_REGION, AWS_DEFAULT_REGION or us-east-1 by default.", valueName: "name"))
  var region: String?
  @Flag(
    name: .customLong("s3-host-names"),
    help: "Send requests to BUCKET.HOST of the --s3-endpoint, and not to HOST/BUCKET.")
  var usesHostNames = false
  @Flag(
    name: .customLong("s3-allow-http"),
    help: "Take an --s3-endpoint with http:// on another machine; others can read the blobs on the way.")
  var allowsHTTP = false

  /// True if `--blobs` names a bucket and not a folder.
  static func isBucket(_ blobs: String?) -> Bool { blobs?.hasPrefix("s3://") ?? false }

  /// Returns the bucket that `--blobs` names, or `nil` for a folder. The key is in the environment, because others can
  /// read options.
  func bucket(
    _ blobs: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws -> S3Bucket? {
    guard let blobs, Self.isBucket(blobs) else {
      guard endpoint == nil, region == nil, !usesHostNames, !allowsHTTP else {
        throw ValidationError("The options --s3-… need --blobs s3://BUCKET.")
      }
      return nil
    }
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    guard let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") else {
      throw ToolError("Blobs on S3 need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.")
    }
    let credentials = S3Credentials(id: id, secret: secret, token: value("AWS_SESSION_TOKEN"))
    do {
      return try S3Bucket(
        blobs, endpoint: endpoint, region: region ?? value("AWS_REGION", "AWS_DEFAULT_REGION") ?? "us-east-1",
        credentials: credentials, usesHostNames: usesHostNames, allowsHTTP: allowsHTTP)
    } catch let error as S3Bucket.Unusable {
      throw ToolError(error.description)
    }
  }
}

/// The blobs of a server: a folder, or a bucket on S3.
enum ServedBlobs {
  case folder(String)
  case bucket(S3Bucket)

  /// Reads `--blobs`. Returns `nil` if it isn't given.
  init?(_ blobs: String?, _ options: S3Options) throws {
    if let bucket = try options.bucket(blobs) {
      self = .bucket(bucket)
    } else if let blobs {
      self = .folder(blobs)
    } else {
      return nil
    }
  }

  /// The path of the folder, or `nil` for a bucket.
  var folder: String? { if case .folder(let path) = self { path } else { nil } }

  /// Opens the storage. A bucket that refuses a request is a `ToolError`. One that does not answer is used all the same,
  /// because records don't need it.
  func open(
    _ limits: BlobLimits, logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> any BlobFileStorage {
    switch self {
    case .folder(let path): return FolderBlobStorage(at: path, limits: limits, now: now)
    case .bucket(let bucket):
      let transport = OutboundTransport(compression: false, bodyLimit: 64 << 20, connections: 64)
      let storage = S3BlobStorage(bucket, limits: limits, logger: logger, now: now, send: transport.send)
      do { try await storage.check() } catch let error as S3Bucket.Unusable {
        throw ToolError(error.description)
      } catch let error as StorageUnavailable {
        StandardStreams.note("\(error) Blobs are refused until it does.")
      }
      return storage
    }
  }
}
