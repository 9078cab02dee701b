import Bars
import BothyStore
import BothySync
import Foundation

/// A first push of all rows from one device, then a first pull of them into another device's store, whose table has an
/// index.
///
/// It runs over HTTP on loopback with the server in a second process. To show the cost of HTTP, it also runs with both
/// ends in this process and the wire's JSON between them.
struct SyncRun {
  let data: Dataset
  let repetitions: Int
  let folder: String

  init(rows: Int, repetitions: Int, folder: String) {
    data = Dataset(rows: rows)
    self.repetitions = repetitions
    self.folder = folder
  }

  func bars() async throws -> [Bar] {
    var pushed: [Double] = []
    var pulled: [Double] = []
    var pushedOverHTTP: [Double] = []
    var pulledOverHTTP: [Double] = []
    for repetition in 0..<repetitions {
      let place = "\(folder)/sync-\(repetition)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let inProcess = try InProcessRemote("\(place)/storage.db")
      pushed.append(try await push("\(place)/a.db", to: inProcess))
      pulled.append(try await pull("\(place)/b.db", from: inProcess))
      let server = try ServerProcess("\(place)/server.db")
      pushedOverHTTP.append(try await push("\(place)/c.db", to: server.remote))
      pulledOverHTTP.append(try await pull("\(place)/d.db", from: server.remote))
      server.stop()
      try FileManager.default.removeItem(atPath: place)
    }
    return [
      Bar(
        claim: "first push over loopback HTTP", measured: pushedOverHTTP.median ?? 0, limit: 10_000,
        isMinimum: true, unit: "rows/s"),
      Bar(
        claim: "first pull into an indexed store over loopback HTTP", measured: pulledOverHTTP.median ?? 0,
        limit: 20_000, isMinimum: true, unit: "rows/s"),
      Bar(
        claim: "first push, wire in process", measured: pushed.median ?? 0, limit: 10_000, isMinimum: true,
        unit: "rows/s"),
      Bar(
        claim: "first pull into an indexed store, wire in process", measured: pulled.median ?? 0,
        limit: 20_000,
        isMinimum: true, unit: "rows/s"),
    ]
  }

  private func push(_ path: String, to remote: some RemoteStorage) async throws -> Double {
    let device = try SyncedStore(at: path, schema: Self.schema, remote: remote)
    let items = data.items.map(SyncedIndexedItem.init)
    try await device.write { transaction in for item in items { try transaction.insert(item) } }
    return try await rate {
      await device.sync(.push)
    } rows: {
      $0.pushed
    }
  }

  private func pull(_ path: String, from remote: some RemoteStorage) async throws -> Double {
    let device = try SyncedStore(at: path, schema: Self.schema, remote: remote)
    return try await rate {
      await device.sync(.pull)
    } rows: {
      $0.pulled
    }
  }

  private func rate(_ sync: () async -> SyncReport, rows: (SyncReport) -> Int) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let report = await sync()
    let seconds = start.duration(to: clock.now) / .seconds(1)
    guard report.obstacle == nil, rows(report) == data.items.count else {
      throw BenchmarkError(
        "The sync moved \(rows(report)) of \(data.items.count) rows: \(report.obstacle as Any)")
    }
    return Double(data.items.count) / seconds
  }

  static let schema = StoreSchema(types: [SyncedIndexedItem.schema])
}
