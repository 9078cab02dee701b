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

  @Option(
    name: .customLong("s3-key"),
    help: ArgumentHelp(
      "A file with the lines AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=…, read again when it changes. Without it, the environment has the key.",
      valueName: "file"), completion: .file())
  var keyFile: String?

  /// True if `--blobs` names a bucket and not a folder.
  static func isBucket(_ blobs: String?) -> Bool { blobs?.hasPrefix("s3://") ?? false }

  /// Returns the bucket that `--blobs` names, or `nil` for a folder. The key is in the environment, because others can
  /// read options.
  func bucket(
    _ blobs: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws -> S3Bucket? {
    guard let blobs, Self.isBucket(blobs) else {
      guard endpoint == nil, region == nil, !usesHostNames, !allowsHTTP, keyFile == nil else {
        throw ValidationError("The options --s3-… need --blobs s3://BUCKET.")
      }
      return nil
    }
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    let credentials: S3Credentials
    if let keyFile {
      credentials = try Self.key(keyFile)
    } else {
      guard let found = S3Credentials(environment: environment) else {
        throw ToolError(
          "Blobs on S3 need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or in a file --s3-key."
        )
      }
      credentials = found
    }
    do {
      return try S3Bucket(
        blobs, endpoint: endpoint, region: region ?? value("AWS_REGION", "AWS_DEFAULT_REGION") ?? "us-east-1",
        credentials: credentials, usesHostNames: usesHostNames, allowsHTTP: allowsHTTP)
    } catch let error as S3Bucket.Unusable {
      throw ToolError(error.description)
    }
  }
}

extension S3Options {
  private static func key(_ path: String) throws -> S3Credentials {
    guard let key = S3Credentials(lines: String(decoding: try StandardStreams.read(path), as: UTF8.self))
    else {
      throw ToolError("\(path) needs the lines AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=….")
    }
    return key
  }

  /// Returns the file of the key, to read it again for a bucket, or `nil` without one.
  func watch(_ blobs: (any BlobFileStorage)?) -> WatchedFiles? {
    guard let keyFile, let bucket = blobs as? S3BlobStorage else { return nil }
    return WatchedFiles([keyFile], subject: "the key of the bucket") {
      bucket.replace(try Self.key(keyFile))
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

  /// Opens the storage. A file in place of a folder, and a bucket that refuses a request, are a `ToolError`. A bucket
  /// that does not answer is used all the same, because records don't need it.
  func open(
    _ limits: BlobLimits, logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> any BlobFileStorage {
    switch self {
    case .folder(let path):
      var isFolder: ObjCBool = false
      guard !FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) || isFolder.boolValue else {
        throw ToolError("\(path) is a file. Give --blobs a folder.")
      }
      return FolderBlobStorage(at: path, limits: limits, now: now)
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
