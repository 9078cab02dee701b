import BothyStore

/// Uploads one blob, a request at a time. It begins by requesting how much the server has. So it handles a killed
/// process, another device's upload and a lost answer alike.
struct BlobUpload {
  let blob: Blob
  let runner: SyncRunner
  /// The number of bytes that the server has, after the first request.
  private(set) var offset: Int64?
  private(set) var isDone = false
  /// The number of requests in a row after which the server had no more than before.
  private var standstills = 0
  private var mismatches = 0
  private let partSize: Int

  /// - Parameter attempts: the number of tries in a row without progress. Each after the first halves the parts, down
  ///   to 16 KB, so that a part arrives in time on a slow connection.
  init(_ blob: Blob, _ runner: SyncRunner, attempts: Int64 = 0) {
    self.blob = blob
    self.runner = runner
    let size = runner.configuration.blobs.partSize
    partSize = max(min(size, 16 << 10), size >> min(max(attempts - 1, 0), 30))
  }

  enum Progress {
    /// The server has more than before, or has reported how much it has.
    case moved
    case done
    /// The server doesn't accept the blob as it is, or this device lacks the bytes.
    case refused(Rejection)
  }

  /// Makes one request. Throws `RemoteError` for errors that don't concern this blob.
  mutating func step(_ remote: any BlobRemote) async throws -> Progress {
    do {
      guard let offset else { return try await take(remote.holding(of: blob.sha256)) }
      return try await send(from: offset, to: remote)
    } catch let error as RemoteError {
      if error.isAboutFile { throw error }
      switch error.errorClass {
      case .unreachable, .unauthenticated, .throttled, .serverError: throw error
      case .forbidden, .notFound, .conflict, .rejected: return try await refusal(error)
      }
    }
  }

  private mutating func send(from offset: Int64, to remote: any BlobRemote) async throws -> Progress {
    let (folder, sha256, size, count) = (runner.blobs, blob.sha256, Int64(blob.size), partSize)
    let bytes: [UInt8]?
    do {
      bytes = try await FileWork.run {
        guard let total = folder.size(of: sha256) else { return nil }
        return total == size ? try folder.read(sha256, at: offset, count: count) : []
      }
    } catch let error as BothyError {
      return .refused(Rejection(code: error.code.rawValue, message: error.message))
    }
    guard let bytes else {
      return .refused(
        Rejection(
          code: BothyError.Code.blobMissing.rawValue,
          message: "The bytes of the blob \(sha256) are neither here nor on the server. Put them again."))
    }
    guard !bytes.isEmpty || offset == size else { return .refused(damaged) }
    let part = BlobPart(sha256: sha256, size: size, offset: offset, bytes: bytes)
    return try await take(try await remote.upload(part))
  }

  private mutating func take(_ holding: BlobHolding) async throws -> Progress {
    let (sha256, now) = (blob.sha256, runner.clock.now())
    switch holding {
    case .whole(let size) where size != Int64(blob.size):
      // Content of another size is another blob, or a sign-in page. The bytes are sent from the beginning.
      return try await take(.part(0))
    case .whole(let size):
      try await runner.store.write(origin: .remote) {
        try BlobTable.confirm(sha256, size: size, at: now, in: $0)
      }
      isDone = true
      return .done
    case .part(let reported):
      // A member of the space may have sent more bytes under this name than the blob has. The upload then restarts.
      let received = reported > Int64(blob.size) ? 0 : reported
      standstills = received > offset ?? -1 ? 0 : standstills + 1
      guard standstills < 5 else {
        throw RemoteError(.serverError, "The server does not keep the parts of a blob.", code: "badAnswer")
      }
      offset = received
      if received > 0 {
        try await runner.store.write(origin: .remote) { try BlobTable.setSent(sha256, received, in: $0) }
      }
      return .moved
    }
  }

  /// Returns the effect of a refused part. If the local file is intact, a first wrong checksum counts as the server's,
  /// which had bytes of another try. The upload then restarts.
  private mutating func refusal(_ error: RemoteError) async throws -> Progress {
    let code = error.code ?? error.errorClass.rawValue
    guard code == BlobError.Code.checksumMismatch.rawValue else {
      return .refused(Rejection(code: code, message: error.message))
    }
    let (folder, sha256) = (runner.blobs, blob.sha256)
    let isIntact = try? await FileWork.run { try folder.isIntact(sha256) }  // unreadable is as bad
    guard isIntact ?? false else { return .refused(damaged) }
    mismatches += 1
    guard mismatches < 2 else { return .refused(Rejection(code: code, message: error.message)) }
    offset = nil
    return .moved
  }

  private var damaged: Rejection {
    Rejection(
      code: BothyError.Code.blobDamaged.rawValue,
      message: "The file of the blob \(blob.sha256) was damaged on this device. Put the bytes again.")
  }
}

/// Uploads blobs that the server lacks and this device has.
struct BlobHealing {
  let runner: SyncRunner

  /// Uploads the wanted blobs whose bytes are on this device. A blob that the server refuses doesn't stop the others.
  ///
  /// - Parameter wanted: names as `BlobWish` returns them.
  func run(_ wanted: Set<String>, _ request: SyncRunner.Request, _ report: inout SyncReport) async throws {
    guard runner.remote.blobs != nil else { return }
    let folder = runner.blobs
    let found = try await FileWork.run {
      folder.files().filter { wanted.contains(BlobWish.name(of: $0.sha256)) }
    }
    for file in found {
      if try await send(file, for: request, &report.requests) { report.uploadedBlobs += 1 }
    }
  }

  /// Uploads a blob unless the server has it. Returns true if the server has it. Throws `RemoteError` if blobs can't be
  /// uploaded now, and `Held` as soon as the request may not go on.
  func send(
    _ file: BlobFolder.File, for request: SyncRunner.Request, _ requests: inout Int
  ) async throws -> Bool {
    guard let remote = runner.remote.blobs else { return false }
    var upload = BlobUpload(Blob(sha256: file.sha256, size: Int(clamping: file.size)), runner)
    while true {
      try runner.checkMayGoOn(request)
      requests += 1
      switch try await upload.step(remote) {
      case .moved: continue
      case .done: return true
      case .refused: return false
      }
    }
  }
}
