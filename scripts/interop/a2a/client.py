"""python client.py BASE BINDING VERSION: the public SDK's client in Python does what a client does, and prints as JSON
what it got."""

import asyncio
import json
import sys
import uuid

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict

BINDINGS = {'jsonrpc': 'JSONRPC', 'rest': 'HTTP+JSON', 'grpc': 'GRPC'}


async def main(base, binding, version):
    results = {}
    config = ClientConfig(
        httpx_client=httpx.AsyncClient(timeout=30),
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[BINDINGS[binding]],
    )
    client = await ClientFactory(config).create_from_url(f'{base}/{binding}-{version}')

    async def attempt(name, run):
        try:
            results[name] = await run()
        except Exception as error:  # what a client is told counts as a result
            results[name] = {'error': type(error).__name__, 'message': str(error)}

    async def ask(text):
        part = pb.Part(text=text)
        message = pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[part])
        return [MessageToDict(each) async for each in client.send_message(pb.SendMessageRequest(message=message))]

    async def card():
        return MessageToDict(await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest()))

    await attempt('the card', card)
    await attempt('a stream', lambda: ask('count 4'))
    done = await ask('echo Grüße, 世界')
    results['a message'] = done
    task = done[0]['task']['id']

    async def get(name):
        return MessageToDict(await client.get_task(pb.GetTaskRequest(id=name)))

    async def cancel():
        return MessageToDict(await client.cancel_task(pb.CancelTaskRequest(id=task)))

    await attempt('a task', lambda: get(task))
    await attempt('an unknown task', lambda: get('unknown'))
    await attempt('a task that is over, cancelled', cancel)
    await attempt('a task that fails', lambda: ask('fail'))
    await client.close()
    print(json.dumps(results))


asyncio.run(main(*sys.argv[1:]))
