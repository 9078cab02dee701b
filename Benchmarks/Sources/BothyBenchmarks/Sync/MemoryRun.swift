import Bars
import BothyStore
import BothySync
import Foundation

/// The memory that a first pull of a million rows takes on the device. The remote makes the server's pages on request
/// and keeps nothing, so only the device's side is measured.
struct MemoryRun {
  let rows: Int
  let folder: String

  func bar() async throws -> Bar {
    let device = try SyncedStore(
      at: "\(folder)/memory.db", schema: SyncRun.schema, remote: EndlessRemote(rows: rows))
    let report = await device.sync(.pull)
    guard report.pulled == rows else {
      throw BenchmarkError("The pull moved \(report.pulled) of \(rows) rows.")
    }
    return Bar(
      claim: "first pull of \(rows) rows, peak memory of the process", measured: Self.peakMegabytes,
      limit: 200,
      unit: "MB")
  }

  /// The peak memory of the process, as the system counts it.
  private static var peakMegabytes: Double {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return Double(usage.ru_maxrss) / 1024
    #else
      getrusage(RUSAGE_SELF, &usage)
      return Double(usage.ru_maxrss) / 1_048_576
    #endif
  }
}

/// A server whose rows are made on request.
private struct EndlessRemote: RemoteStorage {
  let rows: Int

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let pages = request.pulls.map { pull in
      let start = pull.cursor.flatMap { Int($0) } ?? 0
      let end = min(rows, start + request.limit)
      return SyncResponse.Page(
        scope: pull.scope, changes: (start..<end).map(record), cursor: String(end), more: end < rows,
        reset: start == 0)
    }
    do {
      return try SyncResponse(decoding: SyncResponse(pages: pages, serverTime: 1_760_000_000_000).encoded())
    } catch { throw RemoteError(.serverError, "\(error)") }
  }

  private func record(_ index: Int) -> ServerRecord {
    var random = Randomness(state: UInt64(index))
    return ServerRecord(
      id: RecordID(
        type: SyncedIndexedItem.typeName, id: Dataset.id(index, &random)),
      version: String(index + 1), modified: 1_760_000_000_000,
      fields: FieldsDocument([
        "name": .string("rowan \(index) bothy"), "count": .int(Int64(index % 1000)), "price": .double(12.25),
        "active": true, "created": .int(1_700_000_000_000),
        "note": index.isMultiple(of: 2) ? .null : .string("beside the burn, key under stone \(index % 1000)"),
      ]))
  }
}
