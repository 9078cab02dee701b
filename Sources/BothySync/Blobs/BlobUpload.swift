import BothyStore

/// Brings one blob to the server, a request at a time. Where it stands is asked of the server at the beginning, so a
/// process that was killed, another device's upload and a lost answer all look the same.
struct BlobUpload {
  let blob: Blob
  let pass: SyncPass
  /// How many bytes the server has, once it was asked.
  private(set) var offset: Int64?
  private(set) var isDone = false
  /// Requests in a row after which the server had no more than before.
  private var standstills = 0
  private var mismatches = 0
  private let partSize: Int

  /// - Parameter attempts: tries in a row that brought nothing. Each after the first halves the parts, down to 16 KB: where the line is slow, a part must
  ///   still arrive in time.
  init(_ blob: Blob, _ pass: SyncPass, attempts: Int64 = 0) {
    self.blob = blob
    self.pass = pass
    let size = pass.configuration.blobs.partSize
    partSize = max(min(size, 16 << 10), size >> min(max(attempts - 1, 0), 30))
  }

  enum Progress {
    /// The server has more than before, or was asked what it has.
    case moved
    case done
    /// It will not take the blob as it is, or there is nothing to give.
    case refused(Rejection)
  }

  /// One request. Throws `RemoteError` for what has nothing to do with this blob.
  mutating func step(_ remote: any BlobRemote) async throws -> Progress {
    do {
      guard let offset else { return try await take(remote.holding(of: blob.sha256)) }
      return try await send(from: offset, to: remote)
    } catch let error as RemoteError {
      switch error.errorClass {
      case .unreachable, .unauthenticated, .throttled, .serverError: throw error
      case .forbidden, .notFound, .conflict, .rejected: return try await refusal(error)
      }
    }
  }

  private mutating func send(from offset: Int64, to remote: any BlobRemote) async throws -> Progress {
    let (folder, sha256, size, count) = (pass.blobs, blob.sha256, Int64(blob.size), partSize)
    let bytes: [UInt8]?
    do {
      bytes = try await FileWork.run {
        guard let total = folder.size(of: sha256) else { return nil }
        return total == size ? try folder.read(sha256, at: offset, count: count) : []
      }
    } catch let error as StoreError {
      return .refused(Rejection(code: error.code.description, message: error.message))
    }
    guard let bytes else {
      return .refused(
        Rejection(
          code: SyncError.Code.blobMissing.description,
          message: "The bytes of the blob \(sha256) are neither here nor on the server. Put them again."))
    }
    guard !bytes.isEmpty || offset == size else { return .refused(damaged) }
    let part = BlobPart(sha256: sha256, size: size, offset: offset, bytes: bytes)
    return try await take(try await remote.upload(part))
  }

  private mutating func take(_ holding: BlobHolding) async throws -> Progress {
    let (sha256, now) = (blob.sha256, pass.clock.now())
    switch holding {
    case .whole(let size) where size != Int64(blob.size):
      // Something of another size is another thing, or a sign-in page: what answers is shown the bytes.
      return try await take(.part(0))
    case .whole(let size):
      try await pass.store.write(origin: .remote) {
        try BlobTable.confirm(sha256, size: size, at: now, in: $0)
      }
      isDone = true
      return .done
    case .part(let told):
      // A member of the space may have sent more under this name than the blob has: it begins anew.
      let received = told > Int64(blob.size) ? 0 : told
      standstills = received > offset ?? -1 ? 0 : standstills + 1
      guard standstills < 5 else {
        throw RemoteError(.serverError, "The server does not keep the parts of a blob.", code: "badAnswer")
      }
      offset = received
      if received > 0 {
        try await pass.store.write(origin: .remote) { try BlobTable.setSent(sha256, received, in: $0) }
      }
      return .moved
    }
  }

  /// A checksum that does not fit is the server's fault once: what it had was from another try. Then it is looked for here.
  private mutating func refusal(_ error: RemoteError) async throws -> Progress {
    let code = error.code ?? error.errorClass.rawValue
    guard code == BlobProblem.Code.checksumMismatch.rawValue else {
      return .refused(Rejection(code: code, message: error.message))
    }
    let (folder, sha256) = (pass.blobs, blob.sha256)
    let isIntact = try? await FileWork.run { try folder.isIntact(sha256) }  // unreadable is as bad
    guard isIntact ?? false else { return .refused(damaged) }
    mismatches += 1
    guard mismatches < 2 else { return .refused(Rejection(code: code, message: error.message)) }
    offset = nil
    return .moved
  }

  private var damaged: Rejection {
    Rejection(
      code: SyncError.Code.blobDamaged.description,
      message: "The file of the blob \(blob.sha256) was damaged on this device. Put the bytes again.")
  }
}
